// SPDX-License-Identifier: GPL-2.0-only
/* The two proxies of each CPU, which expire the timers in its queues. */
#include <linux/interrupt.h>
#include <linux/jiffies.h>

#include "queue.h"
#include "timershield_expire.h"

DEFINE_PER_CPU(struct shield, shields);
u8 shield_ceiling;

/* Without PREEMPT_RT no task's timer expires in a softirq. */
#define CONTEXTS	(IS_ENABLED(CONFIG_PREEMPT_RT) ? SHIELD_CONTEXTS : 1)

/*
 * The time at which the next timer of a context may expire. If it is due at @now, that is after
 * @gap: other interrupts get in, and the kernel does not take it for a hang. If it is masked, it is
 * the first tick after it has been held for the length of one. The kernel's ticks are at
 * multiples of their length (except with skew_tick=), so this takes no interrupt of its own.
 */
static ktime_t next_event(struct shield *shield, enum shield_context context, ktime_t now,
			  ktime_t gap)
{
	struct timershield_cpu *core = &shield->core;
	ktime_t first = KTIME_MAX, held;
	u8 threshold = context == SHIELD_SOFT ? max(core->threshold, shield->left) : core->threshold;
	struct hrtimer *timer = timershield_earliest(core, context, threshold);

	if (timer) {
		first = timershield_mono(timer);
		first = first > now ? max(first, now + SHIELD_GAP) : now + gap;
	}
	if (minima_all(&core->minima[context]) < first) {
		timer = timershield_earliest(core, context, TIMERSHIELD_ORDINARY);
		held = timer && timershield_queued_level(timer) < threshold ?
		       max(timershield_expired(core, timer), READ_ONCE(shield->held)) : KTIME_MAX;
		if (held < KTIME_MAX - 2 * TICK_NSEC)
			first = min(first, max(roundup(held, TICK_NSEC) + TICK_NSEC, now + gap));
	}
	return max(first, 0);
}

void shield_arm(struct shield *shield, enum shield_context context, ktime_t expires)
{
	struct hrtimer *proxy = &shield->proxy[context];

	if (shield->armed[context] == expires)
		return;
	shield->armed[context] = expires;
	if (expires == KTIME_MAX)
		hrtimer_try_to_cancel(proxy);
	else
		hrtimer_start(proxy, expires, context == SHIELD_HARD ?
			      HRTIMER_MODE_ABS_PINNED_HARD : HRTIMER_MODE_ABS_PINNED_SOFT);
}

static void rearm(struct shield *shield, ktime_t now, ktime_t gap)
{
	ktime_t first[SHIELD_CONTEXTS];
	int context;

	if (!shield->on)
		return;
	raw_spin_lock(&shield->bases->base.lock);
	for (context = 0; context < CONTEXTS; context++)
		first[context] = next_event(shield, context, now, gap);
	raw_spin_unlock(&shield->bases->base.lock);
	for (context = 0; context < CONTEXTS; context++)
		shield_arm(shield, context, first[context]);
}

/* Looks only at timers that may be due earlier than the proxy's expiry. */
static void set_level(struct shield *shield, u8 level)
{
	struct timershield_cpu *core = &shield->core;

	if (!shield_empty(shield)) {
		if (level < core->threshold)
			core->fell = ktime_get();
		else if (core->threshold == TIMERSHIELD_ORDINARY)
			shield->held = ktime_get();
	}
	core->threshold = level;
}

/*
 * The proxies are right for a task that masks nothing, and far away. If a task masks for that long,
 * they interrupt it once in vain.
 */
static bool may_stay(const struct shield *shield)
{
	ktime_t far = ktime_get() + SHIELD_FAR;
	int context;

	for (context = 0; context < CONTEXTS; context++)
		if (shield->armed[context] < far ||
		    shield->armed[context] > minima_all(&shield->core.minima[context]))
			return false;
	return true;
}

/*
 * Another task runs on this CPU now, or the same one at another level. An ordinary task starts the
 * hrtick anew when it is picked.
 */
void shield_switch(struct shield *shield, u8 level)
{
	if (level > TIMERSHIELD_ORDINARY)
		ts_cancel_hrtick(shield->hrtick);
	if (shield->core.threshold == level && !shield->left && !shield->raised)
		return;
	shield->left = 0;
	shield->raised = false;
	if (shield->core.threshold != level)
		set_level(shield, level);
	if (!shield_empty(shield) && !may_stay(shield))
		rearm(shield, 0, 0);
}

const void *timerfd_callback;

/* As the kernel's __run_hrtimer() does it, for readers without a lock. */
static void expire(struct hrtimer_clock_base *queue, struct hrtimer *timer, ktime_t now,
		   unsigned long flags)
{
	struct hrtimer_cpu_base *base = queue->cpu_base;
	enum hrtimer_restart (*function)(struct hrtimer *timer);
	enum hrtimer_restart restart;
	bool hard;

	queue->running = timer;
	raw_write_seqcount_barrier(&queue->seq);
	queue_del(queue, timer);
	WRITE_ONCE(timer->timer_queued, 0);
	function = ACCESS_PRIVATE(timer, function);
	if (function == timerfd_callback)
		timershield_forget(timerfd_seen(timer));
	raw_spin_unlock_irqrestore(&base->lock, flags);

	trace_timer(TRACE_EXPIRE_ENTRY, timer, now);
	hard = lockdep_hrtimer_enter(timer);
	restart = function(timer);
	lockdep_hrtimer_exit(hard);
	trace_timer(TRACE_EXPIRE_EXIT, timer, 0);

	raw_spin_lock_irq(&base->lock);
	if (restart != HRTIMER_NORESTART && !timer->timer_queued) {
		WRITE_ONCE(timer->timer_queued, 1);
		queue_add(queue, timer);
	}
	raw_write_seqcount_barrier(&queue->seq);
	queue->running = NULL;
}

#ifdef CONFIG_PREEMPT_RT
static void lock_expiry(struct hrtimer_cpu_base *base)
{
	spin_lock(&base->softirq_expiry_lock);
}

static void unlock_expiry(struct hrtimer_cpu_base *base)
{
	spin_unlock(&base->softirq_expiry_lock);
}

/* Let in the tasks that wait for the end of a callback. */
static void yield_expiry(struct hrtimer_cpu_base *base, unsigned long flags)
{
	if (!atomic_read(&base->timer_waiters))
		return;
	raw_spin_unlock_irqrestore(&base->lock, flags);
	unlock_expiry(base);
	lock_expiry(base);
	raw_spin_lock_irq(&base->lock);
}
#else
static void lock_expiry(struct hrtimer_cpu_base *base) { }
static void unlock_expiry(struct hrtimer_cpu_base *base) { }
static void yield_expiry(struct hrtimer_cpu_base *base, unsigned long flags) { }
#endif

static bool only_classes(void)
{
	return shield_never_masks(TIMERSHIELD_ORDINARY + 1);
}

/*
 * Only timers of ordinary tasks are due here, and one is due in the kernel's queues. With two
 * classes it may be a real-time task's: it comes first.
 */
static bool gives_way(const struct shield *shield, ktime_t now)
{
	struct hrtimer_cpu_base *stock = shield->stock;
	bool due = false;
	int i;

	if (!only_classes() ||
	    minima_highest(&shield->core.minima[SHIELD_HARD], now) > TIMERSHIELD_ORDINARY)
		return false;
	raw_spin_lock_nested(&stock->lock, SINGLE_DEPTH_NESTING);
	for (i = 0; i < HRTIMER_MAX_CLOCK_BASES / 2; i++) {
		const struct hrtimer *timer = first_timer(&stock->clock_base[i]);

		due |= timer && timershield_mono(timer) <= now;
	}
	raw_spin_unlock(&stock->lock);
	return due;
}

/*
 * Expire timers of a context as the kernel part does. Masked timers wait for a tick and no
 * longer, but only a few of them interrupt the task in one tick.
 */
static void serve(struct shield *shield, enum shield_context context)
{
	struct timershield_run run = {};
	struct timershield_cpu *core = &shield->core;
	struct shield_bases *bases = shield->bases;
	struct hrtimer *timer;
	unsigned long flags;

	timershield_begin(&run, ktime_get());
	raw_spin_lock_irqsave(&bases->base.lock, flags);
	core->tick = READ_ONCE(shield->held) <= run.now - TICK_NSEC;
	while ((timer = context == SHIELD_SOFT ? timershield_next_soft(core, &run) :
			gives_way(shield, run.now) ? NULL : timershield_next(core, &run))) {
		struct hrtimer_clock_base *queue = timer->base;

		expire(queue, timer, ktime_sub(run.now, queue_expiry(queue, 0)), flags);
		/* The kernel, too, may have queued it here meanwhile. */
		core->clocks[queue_level(queue)] |= BIT(queue->index);
		timershield_update_minima(core, queue_level(queue), context);
		if (context == SHIELD_SOFT)
			yield_expiry(queue->cpu_base, flags);
	}
	if (context == SHIELD_SOFT || (core->tick && run.nr_held))
		shield->held = max(shield->held, rounddown(run.now, TICK_NSEC));
	if (context == SHIELD_HARD)
		timershield_done(core, &run);
	/* The thread masks the rest, so that it ends; the switch to the next task releases them. */
	else if (current->flags & PF_KTHREAD &&
		 minima_all(&core->minima[SHIELD_SOFT]) <= run.now)
		shield->left = run.level + 1;
	raw_spin_unlock_irqrestore(&bases->base.lock, flags);
}

static enum hrtimer_restart hard_proxy(struct hrtimer *proxy)
{
	struct shield *shield = container_of(proxy, struct shield, proxy[SHIELD_HARD]);

	shield->armed[SHIELD_HARD] = KTIME_MAX;
	/*
	 * It may have changed its priority. If it is about to be preempted, the mask is higher: with
	 * two classes a timer of the kernel may have woken a real-time task.
	 */
	shield->raised = need_resched() && only_classes();
	if (!need_resched())
		set_level(shield, shield_masks(current));
	else if (shield->raised && shield->core.threshold == TIMERSHIELD_ORDINARY)
		set_level(shield, TIMERSHIELD_ORDINARY + 1);
	serve(shield, SHIELD_HARD);
	/*
	 * What is left over has to wait a little: other interrupts get in, and the kernel does
	 * not take it for a hang.
	 */
	if (!shield_empty(shield)) {
		rearm(shield, ktime_get(), SHIELD_GAP);
		if (shield->raised)
			shield_arm(shield, SHIELD_HARD,
				   min(shield->armed[SHIELD_HARD], ktime_get() + SHIELD_LOOK));
	}
	return HRTIMER_NORESTART;
}

/* In a softirq; only PREEMPT_RT has such timers, and there it is a thread and preemptible. */
static enum hrtimer_restart soft_proxy(struct hrtimer *proxy)
{
	struct shield *shield = container_of(proxy, struct shield, proxy[SHIELD_SOFT]);
	struct hrtimer_cpu_base *base = &shield->bases->base;
	unsigned long flags;

	local_irq_save(flags);
	shield->armed[SHIELD_SOFT] = KTIME_MAX;
	local_irq_restore(flags);

	lock_expiry(base);
	serve(shield, SHIELD_SOFT);
	unlock_expiry(base);

	local_irq_save(flags);
	rearm(shield, 0, 0);
	local_irq_restore(flags);
	return HRTIMER_NORESTART;
}

static void look(void *unused)
{
	struct shield *shield = this_cpu_ptr(&shields);

	set_level(shield, shield_masks(current));
	rearm(shield, 0, 0);
}

/* Make a CPU check its queues and its running task again. */
void shield_kick(int cpu)
{
	struct shield *shield = per_cpu_ptr(&shields, cpu);
	unsigned long flags;

	local_irq_save(flags);
	if (cpu == smp_processor_id()) {
		rearm(shield, 0, 0);
	} else {
		/* Several CPUs may do so at once. -EBUSY: it is on its way already */
		raw_spin_lock(&shield->bases->base.lock);
		if (shield->on)
			smp_call_function_single_async(cpu, &shield->kick);
		raw_spin_unlock(&shield->bases->base.lock);
	}
	local_irq_restore(flags);
}

/* Timers that are armed already leave from where they are. */
void shield_choose(enum shield_mode mode)
{
	WRITE_ONCE(shield_ceiling,
		   mode == SHIELD_CLASSES ? TIMERSHIELD_ORDINARY + 1 : TIMERSHIELD_CRITICAL);
	on_each_cpu(look, NULL, true);
}

void shield_setup(struct shield *shield, int cpu)
{
	shield->core = (struct timershield_cpu)TIMERSHIELD_CPU_INIT;
	shield->bases = per_cpu(timershield_bases, cpu);
	shield->stock = per_cpu_ptr(timershield_stock, cpu);
	hrtimer_setup(&shield->proxy[SHIELD_HARD], hard_proxy, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_HARD);
	hrtimer_setup(&shield->proxy[SHIELD_SOFT], soft_proxy, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
	shield->armed[SHIELD_HARD] = KTIME_MAX;
	shield->armed[SHIELD_SOFT] = KTIME_MAX;
	INIT_CSD(&shield->kick, look, NULL);
}

int shield_up(unsigned int cpu)
{
	struct shield *shield = per_cpu_ptr(&shields, cpu);

	local_irq_disable();
	shield->core.threshold = TIMERSHIELD_ORDINARY;
	shield->on = true;
	local_irq_enable();
	return 0;
}

/* On the CPU itself: it goes offline, or the shield goes. */
int shield_down(unsigned int cpu)
{
	struct shield *shield = per_cpu_ptr(&shields, cpu);
	bool more;

	local_irq_disable();
	/* A kick that was sent before comes when interrupts are enabled; then there are none. */
	raw_spin_lock(&shield->bases->base.lock);
	shield->on = false;
	raw_spin_unlock(&shield->bases->base.lock);
	shield->armed[SHIELD_SOFT] = KTIME_MAX;
	local_irq_enable();
	/* waits for its callback, so that no callback of ours runs */
	hrtimer_cancel(&shield->proxy[SHIELD_SOFT]);

	/* Nothing is queued here any more. In between other interrupts get in. */
	do {
		local_irq_disable();
		more = queues_drain(shield);
		/* When its first timer goes, the kernel looks through its queues for the next. */
		hrtimer_start(&shield->proxy[SHIELD_HARD], 0, HRTIMER_MODE_ABS_PINNED_HARD);
		hrtimer_try_to_cancel(&shield->proxy[SHIELD_HARD]);
		shield->armed[SHIELD_HARD] = KTIME_MAX;
		local_irq_enable();
	} while (more);
	return 0;
}
