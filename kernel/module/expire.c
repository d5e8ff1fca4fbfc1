// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each CPU's proxy, which expires the timers in its queues, and how they get there.
 *
 * Locks: a runqueue's, then that of a CPU's shield_bases, then that of the kernel's queues.
 */
#include "shield.h"

/* How long timers expire in one go, ns */
#define SHIELD_TIME	(20 * NSEC_PER_USEC)
/*
 * How long the CPU then runs tasks at least and at most, ns; what is due meanwhile waits. A task
 * that masks may run in between: the pause is for those that do not.
 */
#define SHIELD_GAP	2000LL
#define SHIELD_PAUSE	NSEC_PER_MSEC
/*
 * After what time a task that has been woken runs, or does not, ns; then after as long as it has
 * waited: an interrupt may take longer than this, and nothing else would get the CPU.
 */
#define SHIELD_LOOK	(20LL * NSEC_PER_USEC)
/* A switch of tasks leaves a proxy where it is that expires so much later, ns */
#define SHIELD_FAR	NSEC_PER_SEC

DEFINE_PER_CPU(struct shield, shields);
u8 shield_ceiling;

/* The first timer of the highest level that has expired */
static struct hrtimer *highest(struct shield *shield, ktime_t now)
{
	u8 level;

	while ((level = minima_highest(&shield->minima, now))) {
		struct hrtimer *timer = queue_first(shield, level);

		if (timer && timer_expiry(timer) <= now)
			return timer;
		queue_correct(shield, level);
	}
	return NULL;
}

/* The first timer at or above a level */
static struct hrtimer *earliest(struct shield *shield, u8 level)
{
	u8 first;

	while ((first = minima_earliest(&shield->minima, level))) {
		struct hrtimer *timer = queue_first(shield, first);

		if (timer && timer_expiry(timer) <= minima_of(&shield->minima, first))
			return timer;
		queue_correct(shield, first);
	}
	return NULL;
}

/*
 * The timer to expire now: the highest level first, none below @floor. Then the oldest one of those
 * that have been held since @held.
 */
static struct hrtimer *next_timer(struct shield *shield, u8 floor, ktime_t held, ktime_t now)
{
	struct hrtimer *timer = highest(shield, now);

	if (timer && queue_level(timer->base) >= floor)
		return timer;
	if (!timer) {
		/* As in the kernel's queues, the slack of ordinary tasks lets them expire early. */
		if (floor > TIMERSHIELD_ORDINARY)
			return NULL;
		timer = queue_first(shield, TIMERSHIELD_ORDINARY);
		return timer && queue_expiry(timer->base, hrtimer_get_softexpires(timer)) <= now ?
		       timer : NULL;
	}
	timer = earliest(shield, TIMERSHIELD_ORDINARY);
	return timer_expiry(timer) <= held ? timer : NULL;
}

/*
 * The time of the next interrupt, @after or later if something is due. If only masked timers are
 * left, it is the first tick after one has been held for the length of a tick, right behind it. The
 * kernel's ticks are at multiples of their length (except with skew_tick=), so this takes no
 * interrupt of its own.
 */
static ktime_t next_event(struct shield *shield, ktime_t now, ktime_t after)
{
	struct hrtimer *timer = earliest(shield, shield->threshold);
	ktime_t next = timer ? max(timer_expiry(timer), after) : KTIME_MAX, held;

	if (minima_all(&shield->minima) >= next)
		return next;
	timer = earliest(shield, TIMERSHIELD_ORDINARY);
	if (!timer)
		return next;
	/* A tick has gone by in which the timers of other tasks took all the time: not again. */
	if (timer_expiry(timer) <= now - 2 * TICK_NSEC && shield->served <= now - 2 * TICK_NSEC)
		return min(next, after);
	held = max3(ktime_add_safe(timer_expiry(timer), TICK_NSEC),
		    shield->served + TICK_NSEC / 2, now);
	if (held < KTIME_MAX - TICK_NSEC)
		next = min(next, roundup(held, TICK_NSEC) + 1);
	return next;
}

static void arm(struct shield *shield, ktime_t expires)
{
	if (shield->armed == expires)
		return;
	shield->armed = expires;
	if (expires == KTIME_MAX)
		hrtimer_try_to_cancel(&shield->proxy);
	else
		hrtimer_start(&shield->proxy, expires, HRTIMER_MODE_ABS_PINNED_HARD);
}

/*
 * A proxy that is right for a task that masks nothing, and far away, stays. If a task masks for so
 * long, it is interrupted once in vain.
 */
static void rearm(struct shield *shield)
{
	ktime_t now = ktime_get(), next;

	if (!shield->on || (shield->armed > now + SHIELD_FAR &&
			    shield->armed <= minima_all(&shield->minima)))
		return;
	raw_spin_lock(&shield->bases->base.lock);
	next = next_event(shield, now,
			  shield->threshold == TIMERSHIELD_ORDINARY ? shield->after : 0);
	raw_spin_unlock(&shield->bases->base.lock);
	arm(shield, next);
}

/*
 * What a task masks while it runs. A kernel thread raises no mask; while a real-time one runs, what
 * was masked below it stays so.
 */
u8 shield_masks(const struct shield *shield, const struct task_struct *task)
{
	u8 level = min(shield_level(task), READ_ONCE(shield_ceiling));

	return task->flags & PF_KTHREAD ? min(level, shield->threshold) : level;
}

static void set_threshold(struct shield *shield, u8 level)
{
	if (level < shield->threshold && !shield_empty(shield))
		shield->fell = ktime_get();
	shield->threshold = level;
}

/*
 * Another task runs on this CPU now, or the same one at another level. An ordinary task starts the
 * hrtick anew when it is picked.
 */
void shield_switch(struct shield *shield, const struct task_struct *task)
{
	u8 level = shield_masks(shield, task);

	if (level > TIMERSHIELD_ORDINARY)
		ts_cancel_hrtick(shield->hrtick);
	if (shield->threshold == level && !shield->woken)
		return;
	set_threshold(shield, level);
	shield->woken = 0;
	if (!shield_empty(shield))
		rearm(shield);
}

/* As the kernel's __run_hrtimer() does it, for readers without a lock. */
static void expire(struct hrtimer *timer, ktime_t now)
{
	struct hrtimer_clock_base *queue = timer->base;
	struct hrtimer_cpu_base *base = queue->cpu_base;
	enum hrtimer_restart (*function)(struct hrtimer *timer);
	enum hrtimer_restart restart;
	bool hard;

	queue->running = timer;
	raw_write_seqcount_barrier(&queue->seq);
	queue_del(queue, timer);
	WRITE_ONCE(timer->timer_queued, 0);
	function = ACCESS_PRIVATE(timer, function);
	raw_spin_unlock(&base->lock);

	trace_timer(TRACE_EXPIRE_ENTRY, timer, ktime_sub(now, queue_expiry(queue, 0)));
	hard = lockdep_hrtimer_enter(timer);
	restart = function(timer);
	lockdep_hrtimer_exit(hard);
	trace_timer(TRACE_EXPIRE_EXIT, timer, 0);

	raw_spin_lock(&base->lock);
	if (restart != HRTIMER_NORESTART && !timer->timer_queued) {
		WRITE_ONCE(timer->timer_queued, 1);
		queue_add(queue, timer);
	}
	raw_write_seqcount_barrier(&queue->seq);
	queue->running = NULL;
	/* The kernel, too, may have queued it here meanwhile. */
	queue_correct(&per_cpu(shields, base->cpu), queue_level(queue));
}

/* A timer in the kernel's queues is due. It may be a real-time task's: it comes first. */
static bool kernel_is_due(struct shield *shield, ktime_t now)
{
	struct hrtimer_cpu_base *stock = shield->stock;
	bool due = false;
	int clock;

	raw_spin_lock_nested(&stock->lock, SINGLE_DEPTH_NESTING);
	for (clock = 0; clock < SHIELD_CLOCKS; clock++) {
		const struct hrtimer *timer = first_timer(&stock->clock_base[clock]);

		due |= timer && timer_expiry(timer) <= now;
	}
	raw_spin_unlock(&stock->lock);
	return due;
}

/*
 * Expire timers for a while; the rest waits for as long, so that others run meanwhile. Once one has
 * woken a task that is going to preempt the current one, those below it wait for the next switch.
 * Only timers that were released together expire together: one by one they would cost two switches
 * each.
 */
static ktime_t serve(struct shield *shield)
{
	ktime_t now = ktime_get(), began = now, held = KTIME_MIN, next;
	u8 floor;

	raw_spin_lock(&shield->bases->base.lock);
	/* A timer of the kernel has woken a task, which may be real-time. */
	shield->woken = need_resched() ? shield->woken ?: now : 0;
	if (!shield->woken)
		set_threshold(shield, shield_masks(shield, current));
	else if (shield->threshold == TIMERSHIELD_ORDINARY)
		shield->threshold = TIMERSHIELD_REALTIME;
	if (now - shield->served >= TICK_NSEC / 2)
		held = now - (shield->woken ? 2 : 1) * TICK_NSEC;
	floor = shield->threshold;

	while (now - began < SHIELD_TIME) {
		struct hrtimer *timer = next_timer(shield, floor, held, now);
		ktime_t expiry;
		u8 level;

		if (!timer)
			break;
		level = queue_level(timer->base);
		if (level == TIMERSHIELD_ORDINARY && timer_expiry(timer) > now - 2 * TICK_NSEC &&
		    kernel_is_due(shield, now))
			break;
		expiry = timer_expiry(timer);
		if (level < floor || level == TIMERSHIELD_ORDINARY)
			shield->served = now;
		expire(timer, now);
		if (expiry < shield->fell)
			level = min(level, TIMERSHIELD_REALTIME);
		if (need_resched() && level > floor) {
			floor = level;
			shield->woken = shield->woken ?: now;
		}
		now = ktime_get();
	}
	shield->threshold = floor;
	shield->after = now + (now - began < SHIELD_TIME ? SHIELD_GAP :
			       min(now - began, SHIELD_PAUSE));
	next = next_event(shield, now, shield->after);
	if (shield->woken && !shield_empty(shield))
		next = min(next, now + max(SHIELD_LOOK, now - shield->woken));
	raw_spin_unlock(&shield->bases->base.lock);
	return next;
}

static enum hrtimer_restart proxy_expires(struct hrtimer *proxy)
{
	struct shield *shield = container_of(proxy, struct shield, proxy);

	shield->armed = serve(shield);
	if (shield->armed == KTIME_MAX)
		return HRTIMER_NORESTART;
	hrtimer_set_expires(proxy, shield->armed);
	return HRTIMER_RESTART;
}

/*
 * Arm a timer for a task of @level. False: the kernel must arm it, because its callback runs now
 * and it has to stay where it is.
 */
bool shield_start(struct shield *shield, struct hrtimer *timer, u8 level, ktime_t time,
		  u64 slack, enum hrtimer_mode mode)
{
	struct hrtimer_clock_base *old = READ_ONCE(timer->base), *queue;
	ktime_t expires;

	if (!shield->on)
		return false;
	if (mode & HRTIMER_MODE_REL)
		time = ktime_add_safe(time, hrtimer_cb_get_time(timer));
	/* 7.x refuses what has expired already. Before that, its callback may arm it again. */
	if (KERNEL_IS_7 && queue_expiry(old, time) <= ktime_get())
		return false;
	queue = &level_at(shield->bases, level)->queue[old->index];
	if (hrtimer_try_to_cancel(timer) < 0)
		return false;
	/*
	 * Nobody else arms this timer meanwhile, for that is its owner's business, so it stays
	 * inactive and where it is; the lock makes those wait that try to cancel it.
	 */
	old = READ_ONCE(timer->base);
	if (old != queue) {
		raw_spin_lock(&old->cpu_base->lock);
		WRITE_ONCE(timer->base, queue);
		raw_spin_unlock(&old->cpu_base->lock);
	}

	raw_spin_lock(&queue->cpu_base->lock);
	hrtimer_set_expires_range_ns(timer, time, slack);
	WRITE_ONCE(timer->timer_queued, 1);
	trace_timer(TRACE_START, timer, mode);
	queue_add(queue, timer);
	/* One by CLOCK_REALTIME may be due before the boot; the kernel warns of a start before 0. */
	expires = max_t(ktime_t, timer_expiry(timer), 0);
	raw_spin_unlock(&queue->cpu_base->lock);

	if (expires < shield->armed && level >= shield->threshold)
		arm(shield, expires);
	else if (expires < shield->armed)
		rearm(shield);
	return true;
}

static void look(void *unused)
{
	struct shield *shield = this_cpu_ptr(&shields);

	set_threshold(shield, shield_masks(shield, current));
	/* In the interrupt that comes at once the kernel looks at its queues. */
	if (shield->on && shield->returned)
		arm(shield, 0);
	else
		rearm(shield);
	shield->returned = false;
}

/* Make a CPU check its queues and its running task again. */
void shield_kick(int cpu)
{
	struct shield *shield = per_cpu_ptr(&shields, cpu);
	unsigned long flags;

	local_irq_save(flags);
	if (cpu == smp_processor_id()) {
		look(NULL);
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
	/* the queues of all levels are there: shield_never_masks() */
	smp_store_release(&shield_ceiling, mode == SHIELD_CLASSES ? TIMERSHIELD_REALTIME : U8_MAX);
	on_each_cpu(look, NULL, true);
}

void shield_setup(struct shield *shield, int cpu)
{
	memset64((u64 *)shield->minima.first, KTIME_MAX, ARRAY_SIZE(shield->minima.first));
	shield->threshold = TIMERSHIELD_ORDINARY;
	shield->bases = per_cpu(timershield_bases, cpu);
	shield->stock = per_cpu_ptr(timershield_stock, cpu);
	hrtimer_setup(&shield->proxy, proxy_expires, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	shield->armed = KTIME_MAX;
	INIT_CSD(&shield->kick, look, NULL);
}

int shield_up(unsigned int cpu)
{
	struct shield *shield = per_cpu_ptr(&shields, cpu);

	local_irq_disable();
	shield->threshold = TIMERSHIELD_ORDINARY;
	shield->on = true;
	local_irq_enable();
	return 0;
}

/* On the CPU itself: it goes offline, or the shield goes. */
int shield_down(unsigned int cpu)
{
	struct shield *shield = per_cpu_ptr(&shields, cpu);
	bool more;

	/* A kick that was sent before comes when interrupts are enabled; then there are none. */
	raw_spin_lock_irq(&shield->bases->base.lock);
	shield->on = false;
	raw_spin_unlock_irq(&shield->bases->base.lock);
	/* Nothing is queued here any more. In between other interrupts get in. */
	do {
		local_irq_disable();
		more = queues_drain(shield);
		/* When its first timer goes, the kernel looks through its queues for the next. */
		hrtimer_start(&shield->proxy, 0, HRTIMER_MODE_ABS_PINNED_HARD);
		hrtimer_try_to_cancel(&shield->proxy);
		shield->armed = KTIME_MAX;
		local_irq_enable();
	} while (more);
	return 0;
}
