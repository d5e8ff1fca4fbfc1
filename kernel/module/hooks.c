// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where the kernel calls the shield: ftrace on a few functions, and the tracepoint of the
 * context switch. Replaced are the function that arms a timer, if that belongs to a task, and the
 * one that cancels a POSIX timer.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/pid.h>
#include <linux/posix-timers.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/tracepoint.h>

#include "shield.h"
#include "timershield_process.h"

/* The kernel's functions that the module knows, or hooks. Those of io_uring are optional. */
enum {
	/* callbacks, by which the kind of a timer is known */
	SLEEPER, TIMERFD, POSIX_TIMER, ITIMER, IO_URING, URING_WAIT = IO_URING + 2,
	HRTICK = URING_WAIT + 2,
	/* hooked */
	ON_PRIORITY, ON_POLICY = ON_PRIORITY + 4, ON_CLOCK, ON_POLL, ON_READ, ON_SETITIMER, ON_START,
	ON_USER_START, ON_CANCEL = ON_USER_START,
	/* called */
	SEND_SIGNAL,
};

static struct symbol functions[] = {
	[SLEEPER] = { "hrtimer_wakeup" },
	[TIMERFD] = { "timerfd_tmrproc" },
	[POSIX_TIMER] = { "posix_timer_fn" },
	[ITIMER] = { "it_real_fn" },
	[IO_URING] = { "io_timeout_fn" },
	{ "io_link_timeout_fn" },
	[URING_WAIT] = { "io_cqring_timer_wakeup" },
	{ "io_cqring_min_timer_wakeup" },
	/* of the scheduler's timer that ends an ordinary task's turn */
	[HRTICK] = { "hrtick" },
	[ON_PRIORITY] = { "switched_to_rt" },
	{ "switched_to_dl" },
	{ "switched_to_fair" },
	{ "prio_changed_rt" },
	[ON_POLICY] = { "rt_mutex_adjust_pi" },
	[ON_CLOCK] = { "timerfd_clock_was_set" },
	[ON_POLL] = { "timerfd_poll" },
	[ON_READ] = { TS_TIMERFD_READ },
	[ON_SETITIMER] = { "do_setitimer" },
	[ON_START] = { "hrtimer_start_range_ns" },
#ifdef TIMERSHIELD_USER_START
	[ON_USER_START] = { "hrtimer_start_range_ns_user" },
#else
	[ON_CANCEL] = { "common_hrtimer_try_to_cancel" },
	[SEND_SIGNAL] = { TS_SEND_SIGNAL },
#endif
};

static void *callback_of(struct hrtimer *timer)
{
	return READ_ONCE_NOCHECK(ACCESS_PRIVATE(timer, function));
}

/* The level of the thread or process that gets a POSIX timer's signal. */
static u8 signalled_level(struct hrtimer *timer)
{
	struct k_itimer *itimer = container_of(timer, struct k_itimer, it.real.timer);
	u8 level = TIMERSHIELD_ORDINARY;
	struct task_struct *task;

	rcu_read_lock();
	if (itimer->it_sigev_notify & SIGEV_THREAD_ID) {
		task = pid_task(itimer->it_pid, PIDTYPE_PID);
		if (task)
			level = shield_level(task);
	} else {
		task = pid_task(itimer->it_pid, PIDTYPE_TGID);
		if (task)
			level = timershield_threads_level(task);
	}
	rcu_read_unlock();
	return level;
}

/* The level only rises. True if it has. */
static bool raise(u8 *raised, u8 level)
{
	u8 old = READ_ONCE(*raised);

	do {
		if (old >= level)
			return false;
	} while (!try_cmpxchg(raised, &old, level));
	return true;
}

/* The current task arms a timerfd. Who looks at it meanwhile raises it again: saw_timerfd() */
static u8 armed_timerfd(struct hrtimer *timer)
{
	WRITE_ONCE(*shield_raised(timer), 0);
	smp_mb();
	return max(shield_level(current), timershield_seen(timerfd_seen(timer)));
}

/* The level for which a timer is being armed; 0: not for a task */
static u8 level_of(struct hrtimer *timer)
{
	void *callback = callback_of(timer);
	u8 level;
	int i;

	/* Drivers sleep uninterruptibly, system calls do not. */
	if (callback == functions[SLEEPER].address)
		return container_of(timer, struct hrtimer_sleeper, timer)->task == current &&
		       !(READ_ONCE(current->__state) & TASK_UNINTERRUPTIBLE) ?
		       shield_level(current) : 0;
	if (callback == functions[TIMERFD].address)
		return armed_timerfd(timer);
	if (callback == functions[POSIX_TIMER].address) {
		level = signalled_level(timer);
		return shield_never_masks(min(level, shield_level(current))) ? 0 : level;
	}
	if (callback == functions[ITIMER].address)
		return timershield_threads_level(current);
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
	if (!level || !shield_start(shield, timer, level, time, slack, mode)) {
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
	if (!in_task() || current->flags & PF_KTHREAD)
		return;
	/* Only one that sends a signal may be for a task of the other class. */
	if (shield_never_masks(shield_level(current)) && callback != functions[POSIX_TIMER].address)
		return;
	for (i = 0; i < HRTICK; i++)
		if (functions[i].address && callback == functions[i].address)
			ts_redirect(regs, ops->private);
}

/*
 * The timer of a task that sleeps is on its stack. What looks like one may be left over from an
 * earlier call: shield_move() tells.
 */
static __no_kasan_or_inline void move_sleeper(struct task_struct *task)
{
	unsigned long *word = (unsigned long *)ts_saved_sp(task);
	unsigned long *end = (unsigned long *)task_pt_regs(task);

	for (; word < end; word++) {
		void *callback = (void *)READ_ONCE(*word);
		struct hrtimer *timer = container_of((void *)word, struct hrtimer, function);

		if (callback && (callback == functions[SLEEPER].address ||
				 callback == functions[URING_WAIT].address ||
				 callback == functions[URING_WAIT + 1].address) &&
		    (unsigned long *)(timer + 1) <= end)
			shield_move(timer, shield_level(task), false);
	}
}

/* A dead task has no stack any more. */
static bool sleeps(const struct task_struct *task)
{
	return READ_ONCE(task->__state) & (TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE);
}

/* A task has another priority; its runqueue is locked. */
static void notrace on_priority(unsigned long ip, unsigned long caller, struct ftrace_ops *ops,
				struct ftrace_regs *regs)
{
	struct task_struct *task = (struct task_struct *)ts_argument(regs, 1);
	int cpu = task_cpu(task);

	if (task == current)
		shield_switch(this_cpu_ptr(&shields), shield_masks(task));
	else if (!task->on_cpu && sleeps(task))
		move_sleeper(task);
	else if (task->on_cpu && shield_masks(task) != READ_ONCE(per_cpu(shields, cpu).core.threshold))
		shield_kick(cpu);
}

/*
 * A system call has changed the policy of a thread. The timers that signal it or its process
 * follow, as in the kernel part, but only as many as expire in one go, since preemption is
 * disabled. For others, or if the lock is busy, it costs a tick.
 */
static void notrace on_policy(unsigned long ip, unsigned long caller, struct ftrace_ops *ops,
			      struct ftrace_regs *regs)
{
	struct task_struct *task = (struct task_struct *)ts_argument(regs, 0);
	unsigned int nr = TIMERSHIELD_HELD_BATCH;
	struct sighand_struct *sighand;
	struct k_itimer *itimer;
	unsigned long flags;

	rcu_read_lock();
	sighand = rcu_dereference(task->sighand);
	if (!sighand || !spin_trylock_irqsave(&sighand->siglock, flags))
		goto out;
	if (sighand == rcu_access_pointer(task->sighand)) {
		shield_move(&task->signal->real_timer, timershield_threads_level(task), true);
		ts_for_each_posix_timer(itimer, task->signal) {
			struct hrtimer *timer = &itimer->it.real.timer;

			if (callback_of(timer) == functions[POSIX_TIMER].address)
				shield_move(timer, signalled_level(timer), true);
			if (!--nr)
				break;
		}
	}
	spin_unlock_irqrestore(&sighand->siglock, flags);
out:
	rcu_read_unlock();
}

/*
 * A clock was set, or the machine has slept; the kernel knows the new offsets already. Timers that
 * expired because of that have been held only since now.
 */
static void notrace on_clock(unsigned long ip, unsigned long caller, struct ftrace_ops *ops,
			     struct ftrace_regs *regs)
{
	ktime_t now = ktime_get();
	int cpu;

	preempt_disable();
	for_each_online_cpu(cpu) {
		struct shield *shield = per_cpu_ptr(&shields, cpu);

		queues_clock_set(shield, now);
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

static void saw_timerfd(const struct file *file)
{
	struct hrtimer *timer = file->private_data;
	u8 level = shield_level(current);

	if (!is_timer(timer))
		return;
	timershield_see(timerfd_seen(timer), timershield_own_level(current));
	if (raise(shield_raised(timer), level))
		shield_move(timer, level, true);
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

/*
 * A process sets its interval timer anew: the signal of one that is held comes first. Not on
 * PREEMPT_RT, where no signal can be sent with preemption disabled.
 */
static void notrace on_setitimer(unsigned long ip, unsigned long caller, struct ftrace_ops *ops,
				 struct ftrace_regs *regs)
{
	struct hrtimer *timer = &current->signal->real_timer;

	if (!IS_ENABLED(CONFIG_PREEMPT_RT) && ts_argument(regs, 0) == ITIMER_REAL &&
	    shield_claim(timer))
		ACCESS_PRIVATE(timer, function)(timer);
}

#ifndef TIMERSHIELD_USER_START
/* The same for a POSIX timer, which may also be about to be deleted: in place of the kernel's. */
static int try_to_cancel(struct k_itimer *itimer)
{
	if (shield_claim(&itimer->it.real.timer))
		ts_send_signal(functions[SEND_SIGNAL].address, itimer);
	return hrtimer_try_to_cancel(&itimer->it.real.timer);
}

static void notrace on_cancel(unsigned long ip, unsigned long caller, struct ftrace_ops *ops,
			      struct ftrace_regs *regs)
{
	ts_redirect(regs, ops->private);
}
#endif

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
	{ ON_PRIORITY, ON_POLICY - 1, { .func = on_priority } },
	{ ON_CLOCK, ON_CLOCK, { .func = on_clock } },
	{ ON_POLICY, ON_POLICY, { .func = on_policy } },
	{ ON_POLL, ON_POLL, { .func = on_poll } },
	{ ON_READ, ON_READ, { .func = on_read } },
	{ ON_SETITIMER, ON_SETITIMER, { .func = on_setitimer } },
#ifndef TIMERSHIELD_USER_START
	{ ON_CANCEL, ON_CANCEL,
	  { .func = on_cancel, .flags = FTRACE_OPS_FL_IPMODIFY, .private = try_to_cancel } },
#else
	{ ON_USER_START, ON_USER_START,
	  { .func = on_start, .flags = FTRACE_OPS_FL_IPMODIFY, .private = start_user_timer } },
#endif
	{ ON_START, ON_START,
	  { .func = on_start, .flags = FTRACE_OPS_FL_IPMODIFY, .private = start_timer } },
};

static void on_switch(void *data, bool preempt, struct task_struct *previous,
		      struct task_struct *next, unsigned int state)
{
	shield_switch(this_cpu_ptr(&shields), shield_masks(next));
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
	timerfd_callback = functions[TIMERFD].address;
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
