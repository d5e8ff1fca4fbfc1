// SPDX-License-Identifier: GPL-2.0-only
/*
 * TimerShield: which timers of tasks an interrupt expires
 */
#include <linux/minmax.h>
#include <linux/sched.h>

#include "tick-internal.h"
#include "timershield_internal.h"
#include "timershield_queue.h"

#include <trace/events/timershield.h>

/* A timer expires. Had it been masked? */
static void count(struct timershield_cpu *sc, struct timershield_run *run,
		  struct hrtimer *timer, bool tick)
{
	ktime_t expires = timershield_mono(timer);

	run->fresh = !tick && expires >= sc->fell;
	if (run->fresh)
		return;
	if (!tick) {
		sc->released++;
		if (!run->released)
			sc->interrupts++;
		run->released = true;
	}
	sc->masked++;
	sc->longest = max_t(u64, sc->longest, ktime_sub(run->now, expires));
	trace_timershield_expire(timer, ktime_sub(run->now, expires), tick);
}

/* Among all queues: the timer to expire now, the highest level first */
static struct hrtimer *next_due(struct hrtimer_cpu_base *cpu_base, bool soft, u8 floor,
				ktime_t now)
{
	struct timershield_cpu *sc = timershield_of(cpu_base);
	struct hrtimer *next = NULL;
	unsigned int index;

	for_each_queue(index, sc, timershield_queues(soft)) {
		ktime_t basenow = ktime_add(now, cpu_base->clock_base[index].offset);
		struct hrtimer *timer = first_due(&sc->queue[index], floor, basenow);

		if (timer && (!next || timer->queued_level > next->queued_level))
			next = timer;
	}
	return next;
}

/* The first of the timers that have been held for a tick, whatever their levels */
static struct hrtimer *next_held(struct hrtimer_cpu_base *cpu_base, bool soft, ktime_t now)
{
	struct timershield_cpu *sc = timershield_of(cpu_base);
	ktime_t expires = ktime_sub_ns(now, TICK_NSEC);
	struct hrtimer *held = NULL;
	unsigned int index;

	for_each_queue(index, sc, timershield_queues(soft)) {
		struct hrtimer *timer = leftmost(&sc->queue[index]);

		if (timershield_mono(timer) <= expires) {
			expires = timershield_mono(timer);
			held = timer;
		}
	}
	return held;
}

/**
 * timershield_next - the next timer of a task that an interrupt expires
 * @cpu_base: this CPU
 * @run: what it has expired so far, at first only the current time
 *
 * The highest level comes first, also if it expires meanwhile. Once a timer has
 * woken a task that is going to preempt the current one, those below it are left
 * for later. Only timers that have been held are released together: each by
 * itself would cost two switches. What is left the CPU masks from now on: the
 * device must not be set for it. The tick also expires timers that have been held
 * for a tick, whatever their level.
 *
 * Return: the timer, NULL if the interrupt has nothing more to expire.
 */
struct hrtimer *timershield_next(struct hrtimer_cpu_base *cpu_base, struct timershield_run *run)
{
	struct timershield_cpu *sc = timershield_of(cpu_base);
	struct hrtimer *timer = NULL;
	bool tick = false;

	run->floor = max(run->floor, sc->threshold);
	if (need_resched() && run->fresh)
		run->floor = max(run->floor, run->level);
	if (run->nr)
		run->now = ktime_get();
	if (run->nr < TIMERSHIELD_BATCH) {
		struct hrtimer *held = sc->tick ? next_held(cpu_base, false, run->now) : NULL;

		/* Half of what a tick expires may have been held. */
		if (!held || run->nr < TIMERSHIELD_BATCH / 2)
			timer = next_due(cpu_base, false, run->floor, run->now);
		if (timer)
			run->level = max(run->level, timer->queued_level);
		else
			timer = held;
		tick = timer == held;
	}
	if (!timer) {
		sc->threshold = need_resched() ? max(run->floor, run->level) : run->floor;
		sc->tick = false;
		/* All that was released has expired, but for soft timers. */
		if (run->nr < TIMERSHIELD_BATCH && !(sc->active & timershield_queues(true)))
			sc->fell = 0;
		return NULL;
	}
	run->nr++;
	count(sc, run, timer, tick);
	return timer;
}

/* Has a soft timer been held for a tick, so that the tick has to raise the softirq? */
bool timershield_soft_held(struct hrtimer_cpu_base *cpu_base, ktime_t now)
{
	return timershield_of(cpu_base)->tick && next_held(cpu_base, true, now);
}

/*
 * The softirq expires all that is due. It often runs in a thread, whose level
 * says nothing of the tasks that wait for it.
 */
struct hrtimer *timershield_next_soft(struct hrtimer_cpu_base *cpu_base,
				      struct timershield_run *run)
{
	struct hrtimer *timer = next_due(cpu_base, true, 0, run->now);

	if (timer)
		count(timershield_of(cpu_base), run, timer, false);
	return timer;
}
