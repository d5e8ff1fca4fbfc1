// SPDX-License-Identifier: GPL-2.0-only
/*
 * TimerShield: serving, masking and releasing timers. Part of hrtimer.c.
 */
#ifdef CONFIG_TIMERSHIELD
/* Is a timer that has this base on its way from one CPU to another? */
static inline bool hrtimer_migrates(const struct hrtimer_clock_base *base)
{
#ifdef CONFIG_SMP
	return base == &migration_base;
#else
	return false;
#endif
}

/*
 * Of the expired hard timers that are not masked: the highest level first, the
 * earliest of its clock. NULL if there is none. @ceiling: none of them is above
 * this level, so one that has it needs no comparison with the others. @more:
 * there may be others.
 */
static __always_inline struct hrtimer *
hrtimer_shield_pick(struct hrtimer_cpu_base *cpu_base, ktime_t now, u8 ceiling, bool *more)
{
	unsigned int active = cpu_base->active_bases & HRTIMER_ACTIVE_HARD;
	struct hrtimer_clock_base *base;
	struct hrtimer *best = NULL;

	*more = false;
	for_each_active_base(base, cpu_base, active) {
		struct hrtimer *timer = hrtimer_first(base);
		ktime_t basenow = ktime_add(now, base->offset);

		if (!timer || basenow < hrtimer_get_softexpires_tv64(timer))
			continue;
		*more |= best || shieldqueue_expired_after(&base->active, timer, basenow);
		if (*more && timer->level >= ceiling)
			return timer;
		if (*more && basenow >= hrtimer_get_expires_tv64(timer))
			timer = shieldqueue_highest(&base->active, basenow, cpu_base->threshold);
		if (!best || timer->level > best->level)
			best = timer;
	}
	return best;
}

/* The first hard timer at or above a level, and when it expires */
static struct hrtimer *hrtimer_shield_first_at(struct hrtimer_cpu_base *cpu_base, u8 level,
					       ktime_t *expires)
{
	unsigned int active = cpu_base->active_bases & HRTIMER_ACTIVE_HARD;
	struct hrtimer_clock_base *base;
	struct hrtimer *first = NULL;

	*expires = KTIME_MAX;
	for_each_active_base(base, cpu_base, active) {
		struct hrtimer *timer = shieldqueue_first(&base->active, level);
		ktime_t t;

		if (!timer)
			continue;
		t = ktime_sub(hrtimer_get_expires(timer), base->offset);
		if (t < *expires) {
			*expires = t;
			first = timer;
		}
	}
	return first;
}

/*
 * Several timers have expired, and those of level @level are next: is there one
 * of a higher level that expires meanwhile? The time is read again for those
 * alone. Doing it for all would let a flood of timers keep the CPU in the
 * interrupt.
 *
 * @unwatched: how many more timers may be served before the next look. None is
 * expected to take longer than SHIELD_CALLBACK_NS, so with the first higher one
 * still some of these away, as many can do without. The first of all is served
 * without a look if it wakes a sleeper, which is short.
 */
#define SHIELD_CALLBACK_NS	8192
#define SHIELD_UNWATCHED_MAX	16
/* About what it takes to send a signal, the longest of the callbacks in hard interrupts */
#define SHIELD_SIGNAL_NS	4096

static noinline struct hrtimer *
hrtimer_shield_overtaker(struct hrtimer_cpu_base *cpu_base, const struct hrtimer *timer,
			 unsigned int *unwatched)
{
	struct hrtimer *higher;
	ktime_t expires, left;

	higher = hrtimer_shield_first_at(cpu_base, timer->level + 1, &expires);
	left = ktime_sub(expires, ktime_get());
	/* What takes longer than to wait for the higher one is not begun before it. */
	if (left > 0 && left < SHIELD_SIGNAL_NS && timer->owner == TIMERSHIELD_OWNER_TASKS) {
		do
			cpu_relax();
		while (ktime_get() < expires);
		left = 0;
	}
	if (left <= 0) {
		*unwatched = 0;
		return higher;
	}
	*unwatched = min_t(u64, left / SHIELD_CALLBACK_NS, SHIELD_UNWATCHED_MAX);
	return NULL;
}

/* Of those that are slow the first, @busy says so, is not served without a look, either. */
static inline bool hrtimer_shield_is_slow(const struct hrtimer *timer, u8 busy)
{
	return timer->owner == TIMERSHIELD_OWNER_TASKS && busy == TIMERSHIELD_LEVEL_NONE;
}

/* A timer is about to be served. Had it been held back? */
static inline void hrtimer_shield_account(struct hrtimer_cpu_base *cpu_base, struct hrtimer *timer,
					  ktime_t basenow, unsigned int *released)
{
	ktime_t held;

	if (likely(timer->level >= cpu_base->held_below))
		return;
	held = ktime_sub(basenow, hrtimer_get_expires(timer));
	if (held > 0)
		timershield_count_released(timer, held, (*released)++);
}

/* A timer of the given level was served: does what it has woken run next? */
static __always_inline void hrtimer_shield_raise(struct hrtimer_cpu_base *cpu_base, u8 level,
						 bool releasing)
{
	if (level <= cpu_base->threshold)
		return;
	if (releasing)
		level = timershield_next_level();
	else if (!need_resched())
		return;
	else if (level == TIMERSHIELD_LEVEL_CRITICAL)
		level = timershield_queued_level();
	if (level <= cpu_base->threshold)
		return;
	trace_timershield_stop(level, cpu_base->threshold);
	cpu_base->threshold = level;
}

/*
 * Serve the expired timers that are not masked, highest level first. Once one
 * of them has made a task runnable that is to run next, those below it are
 * masked: they wait for that task to let go.
 *
 * @releasing: not by the interrupt, but for a task that is about to block. The
 * kernel's own timers are left to the interrupt, which they may rely on.
 */
static __always_inline void __hrtimer_shield_run_queues(struct hrtimer_cpu_base *cpu_base,
							ktime_t now, unsigned long flags,
							bool releasing)
{
	unsigned int unwatched = 1, released = releasing;
	u8 ceiling = TIMERSHIELD_LEVEL_CRITICAL, busy = TIMERSHIELD_LEVEL_NONE;
	struct hrtimer *timer;
	bool more = true;

	while (more && (timer = hrtimer_shield_pick(cpu_base, now, ceiling, &more))) {
		struct hrtimer_clock_base *base = timer->base;
		ktime_t basenow = ktime_add(now, base->offset);
		u8 level = timer->level;

		ceiling = level;
		if (level < TIMERSHIELD_LEVEL_CRITICAL &&
		    (!unwatched-- || hrtimer_shield_is_slow(timer, busy))) {
			struct hrtimer *higher;

			higher = hrtimer_shield_overtaker(cpu_base, timer, &unwatched);
			if (higher) {
				timer = higher;
				level = timer->level;
				base = timer->base;
				basenow = base->get_time();
			}
		}

		if (releasing && level == TIMERSHIELD_LEVEL_CRITICAL)
			break;
		busy = max(busy, level);

		hrtimer_shield_account(cpu_base, timer, basenow, &released);
		__run_hrtimer(cpu_base, base, timer, &basenow, flags);
		hrtimer_shield_raise(cpu_base, level, releasing);
	}
	cpu_base->held_below = TIMERSHIELD_LEVEL_NONE;
	if (!releasing)
		cpu_base->busy_level = min(cpu_base->busy_level, busy);
}

static noinline void hrtimer_shield_run_queues(struct hrtimer_cpu_base *cpu_base, ktime_t now,
					       unsigned long flags, int retries)
{
	if (!retries)
		cpu_base->busy_level = TIMERSHIELD_LEVEL_CRITICAL;
	__hrtimer_shield_run_queues(cpu_base, now, flags, false);
}

/* Set the device to the first timer that counts. True if that has expired. */
static bool hrtimer_shield_reprogram(struct hrtimer_cpu_base *cpu_base)
{
	ktime_t expires_next = hrtimer_update_next_event(cpu_base);

	if (expires_next == cpu_base->expires_next)
		return false;
	cpu_base->expires_next = expires_next;
	if (!tick_program_event(expires_next, 0))
		return false;
	tick_program_event(expires_next, 1);
	return true;
}

/**
 * timershield_release_slow - serve masked timers for a task that blocks
 * @cpu_base: this CPU's
 *
 * The threshold falls to the level of the task that would run next, and rises
 * again with what the served timers wake.
 *
 * Context: interrupts are disabled, the runqueue lock is not held.
 */
void timershield_release_slow(struct hrtimer_cpu_base *cpu_base)
{
	u8 old = cpu_base->threshold;
	u8 level = timershield_next_level();
	unsigned long flags;
	ktime_t now;

	/* With more important ones queued there is nothing to release. */
	if (level >= old || cpu_base->hang_detected || !cpu_base->online)
		return;

	raw_spin_lock_irqsave(&cpu_base->lock, flags);
	now = hrtimer_update_base(cpu_base);
	trace_timershield_threshold(old, level);
	cpu_base->threshold = level;
	cpu_base->held_below = old;
	__hrtimer_shield_run_queues(cpu_base, now, flags, true);
	if (hrtimer_shield_reprogram(cpu_base))
		cpu_base->held_below = old;
	raw_spin_unlock_irqrestore(&cpu_base->lock, flags);
	if (cpu_base->threshold < old)
		timershield_fell(cpu_base->threshold);
}

/* The highest level of the expired hard timers that are not masked */
static u8 hrtimer_shield_highest_expired(struct hrtimer_cpu_base *cpu_base, ktime_t now)
{
	unsigned int active = cpu_base->active_bases & HRTIMER_ACTIVE_HARD;
	struct hrtimer_clock_base *base;
	u8 level = TIMERSHIELD_LEVEL_NONE;

	for_each_active_base(base, cpu_base, active) {
		struct hrtimer *timer;

		timer = shieldqueue_highest(&base->active, ktime_add(now, base->offset),
					    cpu_base->threshold);
		if (timer && timer->level > level)
			level = timer->level;
	}
	return level;
}

/*
 * hrtimer_interrupt() could not catch up with the expired timers. Does one that has
 * expired meanwhile rank above those that kept it busy? That is served in one more
 * attempt.
 */
static inline bool hrtimer_shield_retries(struct hrtimer_cpu_base *cpu_base, ktime_t now,
					  int retries)
{
	return hrtimer_shielded(cpu_base) && retries == 3 &&
	       hrtimer_shield_highest_expired(cpu_base, now) > cpu_base->busy_level;
}

/*
 * hrtimer_interrupt() could not catch up with the expired timers and pauses
 * until @end. Timers that rank above all of these, or above those that kept it
 * busy, need not wait for that. Returns the time to set the device to.
 */
static noinline ktime_t hrtimer_shield_hang(struct hrtimer_cpu_base *cpu_base, ktime_t now,
					    ktime_t end)
{
	ktime_t expires = KTIME_MAX;
	u8 level;

	raw_spin_lock(&cpu_base->lock);
	if (!cpu_base->shielded)
		goto unlock;

	level = min(hrtimer_shield_highest_expired(cpu_base, now), cpu_base->busy_level);
	cpu_base->hang_level = level;
	if (level < TIMERSHIELD_LEVEL_CRITICAL)
		hrtimer_shield_first_at(cpu_base, level + 1, &expires);
	end = min(end, expires);
	cpu_base->expires_next = end;
	/* A change of the threshold has to look at hang_level */
	cpu_base->next_timer = NULL;
	cpu_base->next_level = TIMERSHIELD_LEVEL_NONE;
	cpu_base->masked_first = true;
unlock:
	raw_spin_unlock(&cpu_base->lock);
	return end;
}

/* When a timer expires, on the clock of the device */
static ktime_t hrtimer_expires_on(const struct hrtimer_clock_base *base,
				  const struct hrtimer *timer)
{
	return ktime_sub(hrtimer_get_expires(timer), base->offset);
}

/*
 * Lock the base of a timer that may be initialized anew meanwhile, by which it
 * loses its base. NULL then: it is not enqueued.
 */
static struct hrtimer_clock_base *hrtimer_shield_lock_base(struct hrtimer *timer,
							   unsigned long *flags)
{
	for (;;) {
		struct hrtimer_clock_base *base = READ_ONCE(timer->base);

		if (!base)
			return NULL;
		if (likely(!hrtimer_migrates(base))) {
			raw_spin_lock_irqsave(&base->cpu_base->lock, *flags);
			if (likely(base == READ_ONCE(timer->base)))
				return base;
			raw_spin_unlock_irqrestore(&base->cpu_base->lock, *flags);
		}
		cpu_relax();
	}
}

/*
 * Is a timer enqueued at this base, which is locked? Who initializes it anew and
 * enqueues it elsewhere does not take the lock for that.
 */
static bool hrtimer_shield_is_queued(struct hrtimer *timer, struct hrtimer_clock_base *base)
{
	if (!hrtimer_is_queued(timer))
		return false;
	/* Pairs with hrtimer_publish_base() */
	smp_rmb();
	return READ_ONCE(timer->base) == base;
}

/* While a hang is recovered from: does a timer come first that need not wait for its end? */
static void hrtimer_shield_look_hung(struct hrtimer_cpu_base *cpu_base)
{
	ktime_t expires;

	if (cpu_base->hang_level == TIMERSHIELD_LEVEL_CRITICAL)
		return;
	hrtimer_shield_first_at(cpu_base, max(cpu_base->hang_level + 1, cpu_base->threshold),
				&expires);
	if (expires >= cpu_base->expires_next)
		return;
	cpu_base->expires_next = expires;
	tick_program_event(expires, 1);
}

/* Look at the queues of this CPU again: a timer has come, or its level has changed. */
static void hrtimer_shield_look(struct hrtimer_cpu_base *cpu_base)
{
	if (!cpu_base->shielded || !cpu_base->online)
		return;
	if (cpu_base->hang_detected)
		hrtimer_shield_look_hung(cpu_base);
	else
		hrtimer_shield_reprogram(cpu_base);
}

static void hrtimer_shield_look_work(struct irq_work *work)
{
	struct hrtimer_cpu_base *cpu_base = this_cpu_ptr(&hrtimer_bases);

	raw_spin_lock(&cpu_base->lock);
	hrtimer_shield_look(cpu_base);
	raw_spin_unlock(&cpu_base->lock);
}

static DEFINE_PER_CPU(struct irq_work, hrtimer_shield_looks) =
	IRQ_WORK_INIT_HARD(hrtimer_shield_look_work);

/*
 * On PREEMPT_RT what an ordinary task sleeps on expires in a thread that ranks as
 * such tasks do. When the task becomes a real-time one, or inherits from one, its
 * timer moves to where it would be if the task had been that before. The base is
 * locked. True if the timer has another one now.
 */
static bool hrtimer_shield_harden(struct hrtimer *timer, u8 level)
{
	struct hrtimer_clock_base *soft = timer->base;
	struct hrtimer_clock_base *hard = soft - HRTIMER_BASE_MONOTONIC_SOFT;

	if (!IS_ENABLED(CONFIG_PREEMPT_RT) || !timer->is_soft || level <= TIMERSHIELD_LEVEL_FAIR ||
	    !timershield_sleeper(timer) || soft->running == timer)
		return false;

	debug_hrtimer_deactivate(timer);
	__remove_hrtimer(timer, soft, HRTIMER_STATE_ENQUEUED, 0);
	timer->is_soft = false;
	timer->is_hard = true;
	WRITE_ONCE(timer->base, hard);
	enqueue_hrtimer(timer, hard, HRTIMER_MODE_ABS_HARD, true);
	return true;
}

/* The level of an enqueued timer changes. The base lock is held. */
static void hrtimer_shield_set_level(struct hrtimer *timer, u8 level)
{
	struct hrtimer_cpu_base *cpu_base = timer->base->cpu_base;
	bool was_masked = hrtimer_masked(cpu_base, timer);
	struct hrtimer_clock_base *base;
	bool masked, moved;

	if (level == timer->level)
		return;
	moved = hrtimer_shield_harden(timer, level);
	base = timer->base;
	shieldqueue_set_level(&base->active, timer, level);
	if (timer == cpu_base->next_timer)
		hrtimer_note_next(cpu_base, timer);
	masked = hrtimer_masked(cpu_base, timer);
	if (masked) {
		cpu_base->masked_first = true;
		hrtimer_offer_timer(cpu_base, base, timer);
	}

	/* The interrupt, if it is under way, finds out what is next. */
	if ((masked == was_masked && !moved) || cpu_base->in_hrtirq || !cpu_base->online)
		return;
	if (cpu_base == this_cpu_ptr(&hrtimer_bases))
		hrtimer_shield_look(cpu_base);
	else if (!masked && hrtimer_expires_on(base, timer) < cpu_base->expires_next)
		irq_work_queue_on(per_cpu_ptr(&hrtimer_shield_looks, cpu_base->cpu), cpu_base->cpu);
}

/*
 * Add a timer that was taken out of another CPU's queue. It still ranks with those
 * who wait for it. Both bases are locked, or who wants to lock it spins.
 */
static void __maybe_unused hrtimer_requeue(struct hrtimer *timer,
					   struct hrtimer_clock_base *base)
{
	u8 level = timer->level;

	enqueue_hrtimer(timer, base, HRTIMER_MODE_ABS, true);
	if (!hrtimer_shielded(base->cpu_base))
		return;
	/* Where it comes from levels were perhaps not kept. */
	level = max(level, timer->level);
	/*
	 * Its task's priority may have changed while nobody knew the timer.
	 * Pairs with timershield_level_changed().
	 */
	smp_mb();
	if (timershield_sleeper(timer))
		level = timershield_timer_level(timer);
	hrtimer_shield_set_level(timer, level);
}

/**
 * timershield_update - the task that a timer is for has changed
 * @timer: the timer. It may be enqueued, expire or be initialized anew meanwhile.
 * @waiter: besides its owner, a task that waits for it; or NULL
 *
 * It ranks otherwise than before, or may run on other CPUs.
 *
 * Context: any. Runqueue locks may be held.
 */
void timershield_update(struct hrtimer *timer, const struct task_struct *waiter)
{
	struct hrtimer_clock_base *base;
	unsigned long flags;

	if (!static_branch_unlikely(&timershield_enabled))
		return;
	/* Its new level is seen here, or by who arms it. Pairs with the lock there. */
	smp_mb();
	base = hrtimer_shield_lock_base(timer, &flags);
	if (!base)
		return;
	if (hrtimer_shield_is_queued(timer, base) && base->cpu_base->shielded) {
		u8 level = timershield_timer_level(timer);

		if (waiter)
			level = max(level, timershield_task_level(waiter));
		hrtimer_shield_set_level(timer, level);
		hrtimer_recount(timer->base, timer);
	}
	raw_spin_unlock_irqrestore(&base->cpu_base->lock, flags);
}

#include "hrtimer_handover.c"

/**
 * timershield_switch_slow - change this CPU's threshold, and the next event
 * @cpu_base: this CPU's
 * @level: the level of the task that runs next
 *
 * Timers that a lower threshold lets through and that have expired already
 * interrupt at once.
 *
 * Context: the local runqueue lock is held, interrupts are disabled.
 */
void timershield_switch_slow(struct hrtimer_cpu_base *cpu_base, u8 level)
{
	u8 old = cpu_base->threshold;

	/* On its way down a CPU loses its timers, then its timer device. */
	if (!cpu_base->shielded || !cpu_base->online)
		return;

	trace_timershield_threshold(old, level);
	raw_spin_lock(&cpu_base->lock);
	cpu_base->threshold = level;
	/* Those that hung do not interrupt this task: no need for a pause */
	if (level > cpu_base->hang_level)
		cpu_base->hang_detected = 0;
	if (cpu_base->hang_detected)
		goto unlock;

	hrtimer_shield_withdraw(cpu_base);
	if (hrtimer_shield_reprogram(cpu_base))
		cpu_base->held_below = old;
unlock:
	raw_spin_unlock(&cpu_base->lock);
	if (level < old)
		timershield_fell(level);
}

/**
 * hrtimer_shield_on - shield this CPU
 * @unused: makes it an smp_call_func_t
 *
 * The queues begin to keep levels, the timers get theirs, and those below the
 * running task are masked.
 *
 * Context: interrupts are disabled. Takes a time proportional to the number of
 * timers on this CPU.
 */
void hrtimer_shield_on(void *unused)
{
	struct hrtimer_cpu_base *cpu_base = this_cpu_ptr(&hrtimer_bases);
	unsigned int active;
	struct hrtimer_clock_base *base;

	raw_spin_lock(&cpu_base->lock);
	/* With low resolution the tick serves all timers, nothing is masked. */
	if (!cpu_base->online || !hrtimer_hres_active(cpu_base) || cpu_base->shielded)
		goto unlock;
	hrtimer_shield_reset(cpu_base, true);
	active = cpu_base->active_bases;
	for_each_active_base(base, cpu_base, active) {
		struct timerqueue_node *node = timerqueue_getnext(&base->active);

		for (; node; node = timerqueue_iterate_next(node)) {
			struct hrtimer *timer = container_of(node, struct hrtimer, node);

			hrtimer_count_in(cpu_base, timer);
		}
		shieldqueue_rebuild(&base->active);
	}
unlock:
	raw_spin_unlock(&cpu_base->lock);
	timershield_switch(current);
}

/**
 * hrtimer_shield_off - no longer shield this CPU
 * @unused: makes it an smp_call_func_t
 *
 * Masked timers that have expired interrupt at once.
 *
 * Context: interrupts are disabled.
 */
void hrtimer_shield_off(void *unused)
{
	struct hrtimer_cpu_base *cpu_base = this_cpu_ptr(&hrtimer_bases);
	unsigned int active;
	struct hrtimer_clock_base *base;

	raw_spin_lock(&cpu_base->lock);
	if (!cpu_base->shielded)
		goto unlock;
	active = cpu_base->active_bases;
	for_each_active_base(base, cpu_base, active) {
		struct timerqueue_node *node = timerqueue_getnext(&base->active);

		for (; node; node = timerqueue_iterate_next(node))
			hrtimer_forget_sleeper(container_of(node, struct hrtimer, node));
	}
	hrtimer_shield_reset(cpu_base, false);
	cpu_base->hang_detected = 0;
unlock:
	raw_spin_unlock(&cpu_base->lock);
	retrigger_next_event(NULL);
}
#else
static inline void hrtimer_requeue(struct hrtimer *timer, struct hrtimer_clock_base *base)
{
	enqueue_hrtimer(timer, base, HRTIMER_MODE_ABS, true);
}

static inline void hrtimer_shield_run_queues(struct hrtimer_cpu_base *cpu_base, ktime_t now,
					     unsigned long flags, int retries) { }

static inline bool hrtimer_shield_retries(struct hrtimer_cpu_base *cpu_base, ktime_t now,
					  int retries)
{
	return false;
}

static inline ktime_t hrtimer_shield_hang(struct hrtimer_cpu_base *cpu_base, ktime_t now,
					  ktime_t end)
{
	return end;
}
#endif

/*
 * A soft timer seems to be due. With a threshold that has risen since the time
 * of the next one was stored, that one may be masked by now.
 */
static inline bool hrtimer_soft_unmasked(struct hrtimer_cpu_base *cpu_base, ktime_t now)
{
	if (!hrtimer_threshold(cpu_base))
		return true;

	cpu_base->softirq_expires_next =
		__hrtimer_get_next_event(cpu_base, HRTIMER_ACTIVE_SOFT);
	return !ktime_before(now, cpu_base->softirq_expires_next);
}

/* @retries: how often this interrupt has done so before */
static inline void hrtimer_run_hard(struct hrtimer_cpu_base *cpu_base, ktime_t now,
				    unsigned long flags, int retries)
{
	if (hrtimer_shielded(cpu_base))
		hrtimer_shield_run_queues(cpu_base, now, flags, retries);
	else
		__hrtimer_run_queues(cpu_base, now, flags, HRTIMER_ACTIVE_HARD);
}
