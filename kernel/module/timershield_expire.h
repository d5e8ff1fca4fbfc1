/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which timers of tasks an interrupt expires. The kernel takes a timer out of our queues without
 * notice. So minima may be too early, and are corrected when they are read.
 */

/* The time at which a timer expired, or at which its clock was set so that it had expired */
static __always_inline ktime_t timershield_expired(const struct timershield_cpu *sc,
						   const struct hrtimer *timer)
{
	ktime_t expired = timershield_mono(timer);

	return timer->base->clockid == CLOCK_MONOTONIC ? expired : max(expired, sc->clock_set);
}

/* A timer expires that has been masked. */
static noinline void timershield_count(struct timershield_cpu *sc, struct timershield_run *run,
				       const struct hrtimer *timer, bool tick)
{
	struct timershield_counters *counters = &sc->counters;
	s64 held = ktime_sub(run->now, timershield_expired(sc, timer));

	if (!tick) {
		counters->released++;
		if (!run->released)
			counters->interrupts++;
		run->released = true;
	}
	counters->masked++;
	counters->longest = max_t(s64, counters->longest, held);
}

/* Among the timers of a context: the first of the highest level that has expired */
static __always_inline struct hrtimer *timershield_highest(struct timershield_cpu *sc, bool soft,
							   ktime_t now)
{
	u8 level;

	while ((level = minima_highest(&sc->minima[soft], now))) {
		struct hrtimer *timer = timershield_first_of(sc, level, soft);

		if (timer && timershield_mono(timer) <= now)
			return timer;
		timershield_update_minima(sc, level, soft);
	}
	return NULL;
}

/* The first timer at or above a level */
static inline struct hrtimer *timershield_earliest(struct timershield_cpu *sc, bool soft, u8 level)
{
	const struct timershield_minima *minima = &sc->minima[soft];
	u8 first;

	while ((first = minima_earliest(minima, level))) {
		struct hrtimer *timer = timershield_first_of(sc, first, soft);

		if (timer && timershield_mono(timer) <= minima_of(minima, first))
			return timer;
		timershield_update_minima(sc, first, soft);
	}
	return NULL;
}

/* The timer to expire now, the highest level first, none below @floor */
static __always_inline struct hrtimer *timershield_due(struct timershield_cpu *sc, bool soft,
						       u8 floor, ktime_t now)
{
	struct hrtimer *timer = timershield_highest(sc, soft, now);

	if (timer)
		return timershield_queued_level(timer) >= floor ? timer : NULL;
	/* As in the stock queues, the slack of ordinary tasks lets their timers expire early. */
	if (floor > TIMERSHIELD_ORDINARY)
		return NULL;
	timer = timershield_first_of(sc, TIMERSHIELD_ORDINARY, soft);
	if (timer && timershield_softmono(timer) <= now)
		return timer;
	return NULL;
}

/* Are there timers that have been held for a tick? */
static __always_inline bool timershield_holds(const struct timershield_cpu *sc, bool soft,
					      ktime_t now)
{
	return minima_all(&sc->minima[soft]) <= ktime_sub_ns(now, TICK_NSEC);
}

/*
 * Of the timers held for a tick: in turn that of the highest level, and that held longest. The turn
 * goes on in the next tick, since long callbacks leave room for one of them only.
 */
static noinline struct hrtimer *timershield_held(struct timershield_cpu *sc, bool soft,
						 const struct timershield_run *run)
{
	ktime_t until = ktime_sub_ns(run->now, TICK_NSEC);
	struct hrtimer *timer;

	timer = sc->oldest ? timershield_earliest(sc, soft, TIMERSHIELD_ORDINARY) :
			     timershield_highest(sc, soft, until);
	if (!timer || timershield_expired(sc, timer) > until)
		return NULL;
	sc->oldest = !sc->oldest;
	return timer;
}

/* An interrupt begins, or goes on after it has set the device in vain. */
static __always_inline void timershield_begin(struct timershield_run *run, ktime_t now)
{
	run->now = now;
	if (!run->began)
		run->began = now;
	/* A timer of the kernel has woken a task. It may outrank all that is due here. */
	if (need_resched() && !run->level)
		run->nr = TIMERSHIELD_BATCH - TIMERSHIELD_HELD_BATCH;
}

/**
 * timershield_next - the next timer of a task that an interrupt expires
 * @sc: of this CPU
 * @run: what it has expired so far, at first only the current time
 *
 * The highest level comes first, also if it expires meanwhile. Once a timer has
 * woken a task that is going to preempt the current one, those below it are left
 * for later. Only timers that have been held are released together: one by one
 * they would cost two switches each. But no real-time task that has been woken waits
 * for those of ordinary tasks. The CPU masks the remaining timers from now on: the
 * device must not be set for them. The tick also expires timers that have been held
 * for a tick, whatever their level, but none after a time except the first.
 *
 * Return: the timer, NULL if the interrupt has nothing more to expire.
 */
static __always_inline struct hrtimer *timershield_next(struct timershield_cpu *sc,
							struct timershield_run *run)
{
	bool held = true, again = run->nr || run->nr_held;
	struct hrtimer *timer;

	run->floor = max(run->floor, sc->threshold);
	if (need_resched() && (run->fresh || run->level > TIMERSHIELD_ORDINARY))
		run->floor = max(run->floor, run->fresh ? run->level : TIMERSHIELD_ORDINARY + 1);
	for (;; again = false) {
		timer = timershield_due(sc, false, run->floor, run->now);
		if (!again || !(timer || sc->tick))
			break;
		run->now = ktime_get();
	}
	run->all = !timer;
	if (timer) {
		held = unlikely(sc->fell) && timershield_expired(sc, timer) < sc->fell;
		if (held ? run->nr_held >= TIMERSHIELD_HELD_BATCH : run->nr >= TIMERSHIELD_BATCH)
			return NULL;
		run->level = max(run->level, timershield_queued_level(timer));
	} else if (unlikely(sc->tick) && run->nr_held < TIMERSHIELD_HELD_BATCH &&
		   (!run->nr_held || run->now - run->began < TIMERSHIELD_BUDGET)) {
		timer = timershield_held(sc, false, run);
	}
	if (!timer)
		return NULL;
	run->fresh = !held;
	if (held) {
		timershield_count(sc, run, timer, run->all);
		run->nr_held++;
	} else {
		run->nr++;
	}
	return timer;
}

/* An interrupt has expired all timers of tasks that it had to. */
static __always_inline void timershield_done(struct timershield_cpu *sc,
					     const struct timershield_run *run)
{
	WRITE_ONCE(sc->threshold, need_resched() ? max(run->floor, run->level) : run->floor);
	if (!run->all)
		return;
	if (unlikely(sc->tick)) {
		sc->tick = false;
		sc->hold = ktime_add_ns(run->now, TICK_NSEC);
	}
	/* All that was released has expired, but for soft timers. */
	if (minima_all(&sc->minima[1]) == KTIME_MAX)
		sc->fell = 0;
}

/*
 * The softirq often runs in a thread, whose level says nothing about the tasks that wait for it to
 * end. So it stops below the highest level that it has expired. As in the tick, a few timers that
 * have been held for a tick follow. The next switch sets the device for the rest.
 */
static __always_inline struct hrtimer *timershield_next_soft(struct timershield_cpu *sc,
							     struct timershield_run *run)
{
	struct hrtimer *timer;

	if (run->nr)
		run->now = ktime_get();
	/* If a task runs it because it enables bottom halves, the mask of that task counts. */
	timer = timershield_due(sc, true, current->flags & PF_KTHREAD ? run->level :
				max(run->level, sc->threshold), run->now);
	if (timer && run->nr < TIMERSHIELD_BATCH) {
		run->nr++;
		run->level = timershield_queued_level(timer);
	} else {
		timer = run->nr_held < TIMERSHIELD_HELD_BATCH ?
			timershield_held(sc, true, run) : NULL;
		run->nr_held += !!timer;
	}
	if (timer && timershield_expired(sc, timer) < sc->fell)
		timershield_count(sc, run, timer, false);
	/* If the tick is stopped, the other held timers wait for the length of a tick. */
	if (!timer && sc->hold < run->now && timershield_holds(sc, true, run->now))
		sc->hold = ktime_add_ns(run->now, TICK_NSEC);
	return timer;
}
