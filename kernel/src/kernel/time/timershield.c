// SPDX-License-Identifier: GPL-2.0-only
/*
 * TimerShield: the timers that tasks have armed, and which of them a CPU masks
 *
 * P. Patel, M. Vanga, B. B. Brandenburg: TimerShield: Protecting High-Priority
 * Tasks from Low-Priority Timer Interference, RTAS 2017.
 */
#include <linux/minmax.h>
#include <linux/pid.h>
#include <linux/smp.h>
#include <linux/tick.h>

#include "tick-internal.h"
#include "timershield_internal.h"
#include "timershield_process.h"
#include "timershield_queue.h"

#define CREATE_TRACE_POINTS
#include <trace/events/timershield.h>

DEFINE_STATIC_KEY_FALSE(timershield_key);
bool timershield_on;

static_assert(TIMERSHIELD_CLOCKS == HRTIMER_MAX_CLOCK_BASES);
static_assert(TIMERSHIELD_DEADLINE < TIMERSHIELD_LEVELS);

/**
 * timershield_enqueue - queue a timer of a task
 * @timer: the timer, its level set
 * @base: its clock base
 * @sleeper: the task that it wakes, if it is that of a sleeper
 *
 * Return: whether it may be the next event of its CPU.
 */
bool timershield_enqueue(struct hrtimer *timer, struct hrtimer_clock_base *base,
			 struct task_struct *sleeper)
{
	struct hrtimer_cpu_base *cpu_base = base->cpu_base;
	struct timershield_cpu *sc = &cpu_base->shield;
	u8 level = READ_ONCE(timer->level);

	timershield_queue_add(sc, timer, level);
	/*
	 * A task knows the first timer that it arms, see timershield_follow(), also if that moves
	 * because its CPU goes offline. Not one that futex starts again while its callback runs:
	 * that makes it forget whose it is.
	 */
	if (sleeper && !sleeper->sleep_base && base->running != timer) {
		WRITE_ONCE(sleeper->sleep_timer, timer);
		WRITE_ONCE(sleeper->sleep_base, cpu_base);
	}
	/* The tick bounds how long it is held; where that is stopped, the device has to. */
	if (level < sc->threshold)
		return tick_nohz_tick_stopped_cpu(cpu_base->cpu);
	/* The first soft timer is compared by hrtimer_reprogram(). */
	return timer->is_soft || timershield_mono(timer) < cpu_base->expires_next;
}

/* Remove a timer from the queues; arguments as for timershield_enqueue() */
void timershield_dequeue(struct hrtimer *timer, struct hrtimer_clock_base *base,
			 struct task_struct *sleeper)
{
	timershield_queue_del(&base->cpu_base->shield, timer);
	if (sleeper && READ_ONCE(sleeper->sleep_timer) == timer)
		WRITE_ONCE(sleeper->sleep_base, NULL);
}

/* timershield_first() if there is a timer of a task before @expires_next, masked or not */
void __timershield_first(struct hrtimer_cpu_base *cpu_base, bool soft, ktime_t *expires_next,
			 struct hrtimer **next_timer)
{
	struct timershield_cpu *sc = &cpu_base->shield;
	const struct timershield_minima *minima = &sc->minima[soft];
	u8 level = minima_earliest(minima, sc->threshold);
	ktime_t first = minima_all(minima);

	if (level && minima_of(minima, level) < *expires_next) {
		/* Below 0 once a clock has been set back, as in the stock queues */
		*expires_next = max(minima_of(minima, level), 0);
		*next_timer = timershield_first_of(sc, level, soft);
	}
	/* Where the tick is stopped, an interrupt of its own bounds the hold. */
	if (first >= *expires_next || !tick_nohz_tick_stopped())
		return;
	/* The end of idle starts the tick before another task runs. */
	if (is_idle_task(current) && !tick_nohz_full_cpu(cpu_base->cpu))
		return;
	first = timershield_hold_ends(sc, first);
	if (first < *expires_next) {
		*expires_next = first;
		*next_timer = timershield_first_of(sc, minima_earliest(minima, TIMERSHIELD_FAIR),
						   soft);
	}
}

/* A bitmask of the clock bases of a CPU that have timers of tasks */
unsigned int timershield_clocks(const struct hrtimer_cpu_base *cpu_base)
{
	unsigned int level, clocks = 0;

	for (level = TIMERSHIELD_FAIR; level <= TIMERSHIELD_DEADLINE; level++)
		clocks |= cpu_base->shield.clocks[level];
	return clocks;
}

/* The timer at a position among those of tasks of a clock base; NULL behind the last */
struct hrtimer *timershield_nth(struct hrtimer_clock_base *base, unsigned long nth)
{
	struct timershield_cpu *sc = &base->cpu_base->shield;
	unsigned int level;

	for (level = TIMERSHIELD_FAIR; level <= TIMERSHIELD_DEADLINE; level++) {
		struct rb_node *node = rb_first_cached(timershield_queue(sc, level, base->index));

		for (; node; node = rb_next(node))
			if (!nth--)
				return to_hrtimer(node);
	}
	return NULL;
}

/* A clock was set: what its timers have in the minima is out of date. */
void __timershield_clock_set(struct hrtimer_cpu_base *cpu_base)
{
	/* the clock that cannot be set */
	const unsigned int monotonic = BIT(HRTIMER_BASE_MONOTONIC) |
				       BIT(HRTIMER_BASE_MONOTONIC_SOFT);
	struct timershield_cpu *sc = &cpu_base->shield;
	ktime_t now = ktime_get();
	unsigned int level;

	sc->clock_seq = cpu_base->clock_was_set_seq;
	sc->realtime = cpu_base->clock_base[HRTIMER_BASE_REALTIME].offset;
	/* Clocks that are set all the time must not put off each tick that expires what is held. */
	if (now - sc->clock_set > 2 * TICK_NSEC)
		sc->clock_set = now;
	for (level = TIMERSHIELD_FAIR; level <= TIMERSHIELD_DEADLINE; level++) {
		if (!(sc->clocks[level] & ~monotonic))
			continue;
		timershield_update_minima(sc, level, false);
		timershield_update_minima(sc, level, true);
	}
}

/* Change the level of a timer, queued or not. */
void timershield_change_level(struct hrtimer *timer, u8 level)
{
	struct hrtimer_cpu_base *cpu_base = timer->base->cpu_base;
	struct timershield_cpu *sc = &cpu_base->shield;
	u8 old = timer->queued_level;

	WRITE_ONCE(timer->level, level);
	if (!old || old == level)
		return;
	timershield_dequeue(timer, timer->base, NULL);
	timershield_enqueue(timer, timer->base, NULL);
	if (old >= sc->threshold || level < sc->threshold ||
	    timershield_mono(timer) >= cpu_base->expires_next)
		return;
	if (cpu_base->cpu == smp_processor_id())
		hrtimer_update_mask(cpu_base);
	else
		smp_call_function_single_async(cpu_base->cpu, &cpu_base->csd);
}

/*
 * The timer of a sleeper follows its task. It is on the stack of the task: only
 * while the lock of @sleep_base is held and @sleep_base is unchanged, it is there.
 */
static void timershield_follow(struct task_struct *p, u8 level)
{
	struct hrtimer_cpu_base *cpu_base = READ_ONCE(p->sleep_base);

	if (!cpu_base)
		return;
	raw_spin_lock(&cpu_base->lock);
	if (READ_ONCE(p->sleep_base) == cpu_base)
		timershield_change_level(READ_ONCE(p->sleep_timer), level);
	raw_spin_unlock(&cpu_base->lock);
}

/*
 * The threshold has fallen. What the device is set for stays an event; only what has
 * been masked may come earlier. If it has expired it was held.
 */
static void timershield_release(struct hrtimer_cpu_base *cpu_base)
{
	struct timershield_cpu *sc = &cpu_base->shield;
	u8 level = minima_earliest(&sc->minima[0], sc->threshold);
	ktime_t expires = level ? max(minima_of(&sc->minima[0], level), 0) : KTIME_MAX;
	ktime_t now;

	if (timershield_active(cpu_base, true) || hrtimer_rearm_pending(cpu_base)) {
		sc->fell = ktime_get();
		hrtimer_update_mask(cpu_base);
		return;
	}
	if (expires >= cpu_base->expires_next)
		return;
	sc->next_level = level;
	cpu_base->next_timer = timershield_first_of(sc, level, false);
	cpu_base->expires_next = expires;
	if (cpu_base->hang_detected)
		return;
	/* Not every device tells that it was set for a time that is over. */
	now = ktime_get();
	if (expires <= now)
		sc->fell = now;
	tick_program_event(expires, 1);
}

static noinline void timershield_set_threshold(struct hrtimer_cpu_base *cpu_base, u8 level,
					       bool same)
{
	struct timershield_cpu *sc = &cpu_base->shield;
	bool falls = level < sc->threshold;

	trace_timershield_threshold(sc->threshold, level);
	guard(raw_spinlock)(&cpu_base->lock);
	WRITE_ONCE(sc->threshold, level);
	if (same || !cpu_base->hres_active)
		return;
	if (falls)
		timershield_release(cpu_base);
	else
		hrtimer_update_mask(cpu_base);
}

/*
 * The level of what a CPU runs changes. Where the next event stays what it is,
 * there is nothing else to do: the lock is not needed.
 */
void __timershield_switch(u8 level)
{
	struct hrtimer_cpu_base *cpu_base = this_cpu_ptr(&hrtimer_bases);
	struct timershield_cpu *sc = &cpu_base->shield;
	ktime_t expires = READ_ONCE(cpu_base->expires_next);
	bool same = level < sc->threshold ?
		    minima_all(&sc->minima[0]) >= expires &&
		    (!IS_ENABLED(CONFIG_PREEMPT_RT) || minima_all(&sc->minima[1]) >= expires) :
		    READ_ONCE(sc->next_level) >= level;

	if (same && !trace_timershield_threshold_enabled())
		WRITE_ONCE(sc->threshold, level);
	else
		timershield_set_threshold(cpu_base, level, same);
}

bool __timershield_prio_changed(struct task_struct *p, int running_on)
{
	u8 level = timershield_level(p), threshold;
	struct hrtimer_cpu_base *cpu_base;

	timershield_follow(p, level);
	if (running_on < 0)
		return false;
	cpu_base = &per_cpu(hrtimer_bases, running_on);
	threshold = READ_ONCE(cpu_base->shield.threshold);
	if (level <= threshold)
		return level < threshold;
	if (running_on == smp_processor_id()) {
		__timershield_switch(level);
		return false;
	}
	/* Not worth an interrupt there: at worst the device fires once in vain. */
	guard(raw_spinlock)(&cpu_base->lock);
	WRITE_ONCE(cpu_base->shield.threshold, max(cpu_base->shield.threshold, level));
	return false;
}

bool __hrtimer_claim_held(struct hrtimer *timer)
{
	return hrtimer_get_expires(timer) <= hrtimer_cb_get_time(timer) &&
	       hrtimer_try_to_cancel(timer) > 0;
}

noinline u8 timershield_process_level(struct task_struct *p)
{
	return timershield_threads_level(p);
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
		return TIMERSHIELD_FAIR;
	return type == PIDTYPE_PID ? timershield_level(p) : timershield_process_level(p);
}
