// SPDX-License-Identifier: GPL-2.0-only
/*
 * TimerShield: the switch, and the level of a process
 *
 * P. Patel, M. Vanga, B. B. Brandenburg: TimerShield: Protecting High-Priority
 * Tasks from Low-Priority Timer Interference, RTAS 2017.
 */
#include <linux/cpu.h>
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>
#include <linux/sysctl.h>
#include <linux/timershield.h>

/* Threads of a process that are looked at for the level of its timers */
#define TIMERSHIELD_THREADS	64

DEFINE_STATIC_KEY_FALSE(timershield_key);

static DEFINE_MUTEX(timershield_mutex);
static u8 timershield_mode = IS_ENABLED(CONFIG_TIMERSHIELD_DEFAULT_ON);

/**
 * timershield_process_level - the level of a timer that is for a process
 * @p: one of its threads
 *
 * Return: the level of the thread, or the highest among the first threads of the
 * process if that is higher. A thread that this misses costs a tick, but never the one
 * that arms the timer: it counts wherever it stands, with a priority that it has
 * inherited. Those of others do not count.
 */
u8 timershield_process_level(struct task_struct *p)
{
	unsigned int nr = TIMERSHIELD_THREADS;
	u8 level = timershield_own_level(p);
	struct task_struct *thread;

	if (same_thread_group(p, current))
		level = max(level, timershield_level(current));
	/* With classes alone there is nothing above a real-time one. */
	if (thread_group_empty(p) || level >= TIMERSHIELD_REALTIME)
		return level;
	guard(rcu)();
	for_each_thread(p, thread) {
		level = max(level, timershield_own_level(thread));
		if (!--nr)
			break;
	}
	return level;
}

/**
 * timershield_pid_level - the level of a timer that sends a signal
 * @pid: the thread or process that gets it
 * @type: PIDTYPE_PID for a thread, PIDTYPE_TGID for a process
 *
 * Return: the level of the thread, or that of timershield_process_level()
 */
u8 timershield_pid_level(struct pid *pid, enum pid_type type)
{
	struct task_struct *p;

	guard(rcu)();
	p = pid_task(pid, type);
	if (!p)
		return TIMERSHIELD_ORDINARY;
	return type == PIDTYPE_PID ? timershield_level(p) : timershield_process_level(p);
}

static void timershield_look(void *unused)
{
	u8 level = TIMERSHIELD_ORDINARY;

	/* As in a switch, a kernel thread does not raise the mask. */
	if (!(current->flags & PF_KTHREAD))
		level = timershield_masks(current);
	__timershield_switch(timershield_mode ? level : 0);
	/*
	 * What this has released expires at the end of a switch. The switch also lowers the mask
	 * if another CPU, under the runqueue's lock, has raised it by the old mode.
	 */
	set_tsk_need_resched(current);
	set_preempt_need_resched();
}

/*
 * Timers stay where they are until they are armed again; nothing is moved. Real-time tasks
 * may keep this one from going on. So nothing is masked while only some of the branches
 * are patched: the threshold is 0 then, and stays so.
 */
static void timershield_apply(void)
{
	guard(cpus_read_lock)();
	if (timershield_mode)
		static_branch_enable_cpuslocked(&timershield_key);
	on_each_cpu(timershield_look, NULL, 1);
	if (!timershield_mode)
		static_branch_disable_cpuslocked(&timershield_key);
}

static int timershield_sysctl_handler(const struct ctl_table *table, int write, void *buffer,
				      size_t *lenp, loff_t *ppos)
{
	int ret;

	guard(mutex)(&timershield_mutex);
	ret = proc_dou8vec_minmax(table, write, buffer, lenp, ppos);
	if (!ret && write)
		timershield_apply();
	return ret;
}

static struct ctl_table timershield_sysctl[] = {
	{
		.procname	= "timershield",
		.data		= &timershield_mode,
		.maxlen		= sizeof(timershield_mode),
		.mode		= 0644,
		.proc_handler	= timershield_sysctl_handler,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	},
};

static int __init timershield_setup(char *str)
{
	u8 mode;

	if (kstrtou8(str, 0, &mode) || mode > 1)
		pr_warn("timershield: boot parameter timershield= takes 0 or 1\n");
	else
		timershield_mode = mode;
	return 1;
}
__setup("timershield=", timershield_setup);

static int __init timershield_init(void)
{
	register_sysctl("kernel", timershield_sysctl);
	guard(mutex)(&timershield_mutex);
	timershield_apply();
	return 0;
}
device_initcall(timershield_init);
