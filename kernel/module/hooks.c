// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where the kernel calls the shield: ftrace on a few functions, and the tracepoint of the
 * context switch. The function that arms a timer is replaced, if that belongs to a task.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/alarmtimer.h>
#include <linux/fs.h>
#include <linux/pid.h>
#include <linux/posix-timers.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/tracepoint.h>

#include "shield.h"

/* The kernel's functions that the module knows, or hooks. Those of io_uring are optional. */
enum {
	/* callbacks, by which the kind of a timer is known */
	SLEEPER, TIMERFD, POSIX_TIMER, ITIMER, IO_URING, HRTICK = IO_URING + 4,
	/* hooked */
	ON_PRIORITY, ON_CLOCK = ON_PRIORITY + 4, ON_POLL, ON_READ, ON_START, ON_USER_START,
};

static struct symbol functions[] = {
	[SLEEPER] = { "hrtimer_wakeup" },
	[TIMERFD] = { "timerfd_tmrproc" },
	[POSIX_TIMER] = { "posix_timer_fn" },
	[ITIMER] = { "it_real_fn" },
	[IO_URING] = { "io_timeout_fn" },
	{ "io_link_timeout_fn" },
	{ "io_cqring_timer_wakeup" },
	{ "io_cqring_min_timer_wakeup" },
	/* of the scheduler's timer that ends an ordinary task's turn */
	[HRTICK] = { "hrtick" },
	[ON_PRIORITY] = { "switched_to_rt" },
	{ "switched_to_dl" },
	{ "switched_to_fair" },
	{ "prio_changed_rt" },
	[ON_CLOCK] = { "timerfd_clock_was_set" },
	[ON_POLL] = { "timerfd_poll" },
	[ON_READ] = { TS_TIMERFD_READ },
	[ON_START] = { "hrtimer_start_range_ns" },
#ifdef TIMERSHIELD_USER_START
	[ON_USER_START] = { "hrtimer_start_range_ns_user" },
#endif
};

static void *callback_of(struct hrtimer *timer)
{
	return READ_ONCE_NOCHECK(ACCESS_PRIVATE(timer, function));
}

/* The level without inherited priorities: for what keeps its level */
static u8 own_level(const struct task_struct *task)
{
	return timershield_prio_level(READ_ONCE(task->normal_prio));
}

/* The highest level that a process's threads have had: in a free byte of struct signal_struct */
#define SIGNAL_FLAGS	offsetofend(struct signal_struct, core_state)
static_assert(offsetof(struct signal_struct, posix_timers) == SIGNAL_FLAGS + 2 * sizeof(int),
	      "struct signal_struct is not as in the supported kernels");

static u8 *process_level(const struct task_struct *task)
{
	return (u8 *)task->signal + SIGNAL_FLAGS + 3;
}

static void raise_process(const struct task_struct *task)
{
	if (own_level(task) > READ_ONCE(*process_level(task)))
		WRITE_ONCE(*process_level(task), own_level(task));
}

/*
 * The level of a timer that signals the current process, or one of its threads. A process of a
 * single thread is what that is now. With two classes the thread that is signalled does not matter.
 */
static u8 signal_level(struct pid *thread)
{
	const struct task_struct *task;
	u8 level = shield_level(current);

	if (thread_group_empty(current)) {
		WRITE_ONCE(*process_level(current), own_level(current));
	} else if (!thread || shield_never_masks(TIMERSHIELD_REALTIME)) {
		level = max(level, READ_ONCE(*process_level(current)));
	} else {
		rcu_read_lock();
		task = pid_task(thread, PIDTYPE_PID);
		if (task)
			level = max(level, own_level(task));
		rcu_read_unlock();
	}
	return level;
}

/*
 * The highest level of the tasks that have looked at a timerfd. The timer is in a union with an
 * alarm, which is larger: it is behind the timer.
 */
static_assert(sizeof(struct alarm) > sizeof(struct hrtimer));

static u8 *timerfd_level(struct hrtimer *timer)
{
	return (u8 *)(timer + 1);
}

/* The level for which a timer is being armed; 0: not for a task */
static u8 level_of(struct hrtimer *timer)
{
	const struct k_itimer *itimer = container_of(timer, struct k_itimer, it.real.timer);
	const void *callback = callback_of(timer);
	int i;

	/* Drivers sleep uninterruptibly, system calls do not. */
	if (callback == functions[SLEEPER].address)
		return container_of(timer, struct hrtimer_sleeper, timer)->task == current &&
		       !(READ_ONCE(current->__state) & TASK_UNINTERRUPTIBLE) ?
		       shield_level(current) : 0;
	if (callback == functions[TIMERFD].address)
		return max(shield_level(current), READ_ONCE(*timerfd_level(timer)));
	if (callback == functions[POSIX_TIMER].address)
		return signal_level(itimer->it_sigev_notify & SIGEV_THREAD_ID ?
				    itimer->it_pid : NULL);
	if (callback == functions[ITIMER].address)
		return signal_level(NULL);
	for (i = IO_URING; i < HRTICK; i++)
		if (callback == functions[i].address)
			return shield_level(current);
	return 0;
}

/* In place of the kernel's functions. */
static bool start(struct hrtimer *timer, ktime_t time, u64 slack, enum hrtimer_mode mode,
		  bool (*otherwise)(struct hrtimer *, ktime_t, u64, enum hrtimer_mode))
{
	struct shield *shield;
	unsigned long flags;
	u8 level = level_of(timer);
	bool queued = true;

	local_irq_save(flags);
	shield = this_cpu_ptr(&shields);
	if (!level || shield_never_masks(level) ||
	    !shield_start(shield, timer, level, time, slack, mode)) {
		shield->bypass = true;
		queued = otherwise(timer, time, slack, mode);
		shield->bypass = false;
	}
	local_irq_restore(flags);
	return queued;
}

static bool kernel_start(struct hrtimer *timer, ktime_t time, u64 slack, enum hrtimer_mode mode)
{
	hrtimer_start_range_ns(timer, time, slack, mode);
	return true;
}

static void start_timer(struct hrtimer *timer, ktime_t time, u64 slack, enum hrtimer_mode mode)
{
	start(timer, time, slack, mode, kernel_start);
}

static void notrace on_start(unsigned long ip, unsigned long caller, struct ftrace_ops *ops,
			     struct ftrace_regs *regs)
{
	struct hrtimer *timer = (struct hrtimer *)ts_argument(regs, 0);
	const void *callback = callback_of(timer);
	int i;

	if (this_cpu_read(shields.bypass))
		return;
	if (TS_HRTICK && callback == functions[HRTICK].address)
		this_cpu_write(shields.hrtick, timer);
	/* On PREEMPT_RT a thread expires soft timers. They are left to it. */
	if (!in_task() || current->flags & PF_KTHREAD || timer->is_soft ||
	    shield_never_masks(shield_level(current)))
		return;
	for (i = 0; i < HRTICK; i++)
		if (functions[i].address && callback == functions[i].address)
			ts_redirect(regs, ops->private);
}

/* A task has another priority; its runqueue is locked. */
static void notrace on_priority(unsigned long ip, unsigned long caller, struct ftrace_ops *ops,
				struct ftrace_regs *regs)
{
	struct task_struct *task = (struct task_struct *)ts_argument(regs, 1);
	const struct shield *shield = per_cpu_ptr(&shields, task_cpu(task));

	raise_process(task);
	if (task == current)
		shield_switch(this_cpu_ptr(&shields), task);
	else if (task->on_cpu && shield_masks(shield, task) != READ_ONCE(shield->threshold))
		shield_kick(task_cpu(task));
}

/* A clock was set, or the machine has slept; the kernel knows the new offsets already. */
static void notrace on_clock(unsigned long ip, unsigned long caller, struct ftrace_ops *ops,
			     struct ftrace_regs *regs)
{
	int cpu;

	preempt_disable();
	for_each_online_cpu(cpu) {
		struct shield *shield = per_cpu_ptr(&shields, cpu);

		queues_clock_set(shield);
		if (!shield_empty(shield))
			shield_kick(cpu);
	}
	preempt_enable();
}

/*
 * A timerfd begins with a timer or with an alarm. Before 7.3, a timer has no callback until it is
 * armed for the first time, and an alarm may have NULL there, too. Only a timer has one of the
 * kernel's queues for its base.
 */
static bool is_timer(struct hrtimer *timer)
{
	const void *callback = callback_of(timer), *base = READ_ONCE(timer->base);
	int cpu;

	if (callback)
		return callback == functions[TIMERFD].address;
	for_each_possible_cpu(cpu) {
		const struct hrtimer_cpu_base *stock = per_cpu(shields, cpu).stock;

		if (base >= (void *)stock && base < (void *)(stock + 1))
			return true;
	}
	return false;
}

/* A task reads or polls a timerfd, which is its timer from then on. */
static void saw_timerfd(const struct file *file)
{
	struct hrtimer *timer = file->private_data;
	u8 level = own_level(current);
	int cpu;

	if (!is_timer(timer) || level <= READ_ONCE(*timerfd_level(timer)))
		return;
	WRITE_ONCE(*timerfd_level(timer), level);
	cpu = queue_release(timer, level);
	if (cpu >= 0)
		shield_kick(cpu);
}

static void notrace on_poll(unsigned long ip, unsigned long caller, struct ftrace_ops *ops,
			    struct ftrace_regs *regs)
{
	saw_timerfd((struct file *)ts_argument(regs, 0));
}

static void notrace on_read(unsigned long ip, unsigned long caller, struct ftrace_ops *ops,
			    struct ftrace_regs *regs)
{
	if (KERNEL_IS(6, 1))
		saw_timerfd((struct file *)ts_argument(regs, 0));
	else
		saw_timerfd(((struct kiocb *)ts_argument(regs, 0))->ki_filp);
}

#ifdef TIMERSHIELD_USER_START
static bool start_user_timer(struct hrtimer *timer, ktime_t time, u64 slack,
			     enum hrtimer_mode mode)
{
	return start(timer, time, slack, mode, hrtimer_start_range_ns_user);
}
#endif

/*
 * The first two have to stay for as long as timers are queued. The hooks that replace a function
 * come last, when all others are in place.
 */
#define HOOKS_OF_QUEUES	2

static struct hook {
	unsigned int first, last;	/* functions */
	struct ftrace_ops ops;
} hooks[] = {
	{ ON_PRIORITY, ON_CLOCK - 1, { .func = on_priority } },
	{ ON_CLOCK, ON_CLOCK, { .func = on_clock } },
	{ ON_POLL, ON_POLL, { .func = on_poll } },
	{ ON_READ, ON_READ, { .func = on_read } },
#ifdef TIMERSHIELD_USER_START
	{ ON_USER_START, ON_USER_START,
	  { .func = on_start, .flags = FTRACE_OPS_FL_IPMODIFY, .private = start_user_timer } },
#endif
	{ ON_START, ON_START,
	  { .func = on_start, .flags = FTRACE_OPS_FL_IPMODIFY, .private = start_timer } },
};

static void on_switch(void *data, bool preempt, struct task_struct *previous,
		      struct task_struct *next, unsigned int state)
{
	raise_process(next);
	shield_switch(this_cpu_ptr(&shields), next);
}

static int set_filter(struct hook *hook)
{
	unsigned int i;
	int err;

	for (i = hook->first; i <= hook->last; i++) {
		err = ftrace_set_filter_ip(&hook->ops, (unsigned long)functions[i].address, 0,
					   i == hook->first);
		if (err) {
			pr_err("ftrace cannot follow this kernel's %s()\n", functions[i].name);
			return err;
		}
	}
	return 0;
}

static bool optional(unsigned int function)
{
	return (function >= IO_URING && function < HRTICK) || (function == HRTICK && !TS_HRTICK);
}

int hooks_resolve(void)
{
	int i, err;

	symbols_find(functions, ARRAY_SIZE(functions));
	for (i = 0; i < ARRAY_SIZE(functions); i++) {
		if (!functions[i].address && !optional(i)) {
			pr_err("this kernel has no function %s()\n", functions[i].name);
			return -ENOENT;
		}
	}
	err = events_resolve();
	if (err)
		return err;
	for (i = 0; i < ARRAY_SIZE(hooks); i++) {
		err = set_filter(&hooks[i]);
		if (err) {
			hooks_release();
			return err;
		}
	}
	return 0;
}

void hooks_release(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		ftrace_free_filter(&hooks[i].ops);
}

/* The hooks that replace nothing come first; if one of them is busy, ftrace is off. */
static int add(struct hook *hook)
{
	int err;

	/* kernel.ftrace_enabled=0 is refused from now on: it would take the hooks out */
	hook->ops.flags |= FTRACE_OPS_FL_PERMANENT;
	err = register_ftrace_function(&hook->ops);
	if (err == -EBUSY && hook->ops.flags & FTRACE_OPS_FL_IPMODIFY)
		pr_err("%s() is replaced already, by a livepatch or another module; unload that first\n",
		       functions[hook->first].name);
	else if (err)
		pr_err("ftrace does not follow %s(): %d; see sysctl kernel.ftrace_enabled\n",
		       functions[hook->first].name, err);
	return err;
}

/* If it fails, hooks_remove(true) removes those that were added before. */
int hooks_add(void)
{
	int i, err = 0;

	for (i = 0; i < ARRAY_SIZE(hooks) && !err; i++)
		err = add(&hooks[i]);
	return err;
}

void hooks_remove(bool all)
{
	int i;

	for (i = ARRAY_SIZE(hooks) - 1; i >= (all ? 0 : HOOKS_OF_QUEUES); i--)
		if (hooks[i].ops.flags & FTRACE_OPS_FL_ENABLED)
			unregister_ftrace_function(&hooks[i].ops);
	/* A task may have been preempted in this module; it leaves it before it sleeps. */
	synchronize_rcu_tasks();
}

int switch_probe_add(void)
{
	int err = tracepoint_probe_register(event_tracepoint(TRACE_SWITCH), on_switch, NULL);

	if (err)
		pr_err("the tracepoint sched_switch refuses: %d\n", err);
	return err;
}

void switch_probe_remove(void)
{
	tracepoint_probe_unregister(event_tracepoint(TRACE_SWITCH), on_switch, NULL);
	tracepoint_synchronize_unregister();
}
