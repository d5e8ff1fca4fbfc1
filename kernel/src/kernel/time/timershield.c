// SPDX-License-Identifier: GPL-2.0-only
/*
 * TimerShield: the timers that tasks have armed, and which of them a CPU masks
 *
 * P. Patel, M. Vanga, B. B. Brandenburg: TimerShield: Protecting High-Priority
 * Tasks from Low-Priority Timer Interference, RTAS 2017.
 */
#include <linux/minmax.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>

#include "tick-internal.h"
#include "timershield_internal.h"
#include "timershield_queue.h"

#define CREATE_TRACE_POINTS
#include <trace/events/timershield.h>

/* Threads of a process that are looked at for the level of its timers */
#define TIMERSHIELD_THREADS	64

DEFINE_STATIC_KEY_FALSE(timershield_key);
bool timershield_on;
DEFINE_PER_CPU(struct timershield_cpu, timershield_cpus) = {
	.next_level = TIMERSHIELD_CRITICAL,
	.hidden = { KTIME_MAX, KTIME_MAX },
};

static_assert(TIMERSHIELD_QUEUES == HRTIMER_MAX_CLOCK_BASES);
static_assert(TIMERSHIELD_DEADLINE < TIMERSHIELD_CRITICAL);

static void hide(struct timershield_cpu *sc, const struct hrtimer *timer, ktime_t expires)
{
	ktime_t *hidden = &sc->hidden[!!timer->is_soft];

	*hidden = min(*hidden, expires);
}

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
	struct timershield_cpu *sc = timershield_of(cpu_base);
	ktime_t expires = timershield_mono(timer);

	timershield_queue_add(&sc->queue[base->index], timer, timer->level);
	sc->active |= BIT(base->index);
	/* A task knows the first timer that it arms, see timershield_follow(). */
	if (sleeper == current && !current->sleep_base) {
		current->sleep_timer = timer;
		WRITE_ONCE(current->sleep_base, cpu_base);
	}
	if (timer->queued_level < sc->threshold) {
		hide(sc, timer, expires);
		return false;
	}
	/* The first soft timer is compared by hrtimer_reprogram(). */
	return timer->is_soft || expires < cpu_base->expires_next;
}

/* Remove a timer from the queues; arguments as for timershield_enqueue() */
void timershield_dequeue(struct hrtimer *timer, struct hrtimer_clock_base *base,
			 struct task_struct *sleeper)
{
	struct timershield_cpu *sc = timershield_of(base->cpu_base);
	bool empty = !timershield_queue_del(&sc->queue[base->index], timer);

	if (sleeper && sleeper->sleep_timer == timer)
		WRITE_ONCE(sleeper->sleep_base, NULL);
	if (!empty)
		return;
	sc->active &= ~BIT(base->index);
	if (!(sc->active & timershield_queues(timer->is_soft)))
		sc->hidden[!!timer->is_soft] = KTIME_MAX;
}

/**
 * timershield_first - find the first timer that is not masked
 * @cpu_base: the CPU
 * @soft: among the timers that expire in the softirq, or in the interrupt
 * @expires_next: lowered to its expiry if that is earlier
 * @next_timer: set to it in that case
 */
void timershield_first(struct hrtimer_cpu_base *cpu_base, bool soft, ktime_t *expires_next,
		       struct hrtimer **next_timer)
{
	struct timershield_cpu *sc = timershield_of(cpu_base);
	ktime_t hidden = KTIME_MAX;
	unsigned int index;

	for_each_queue(index, sc, timershield_queues(soft)) {
		struct hrtimer *first = leftmost(&sc->queue[index]);
		struct hrtimer *timer = first_at(&sc->queue[index], sc->threshold);

		if (timer != first)
			hidden = min(hidden, timershield_mono(first));
		if (timer && timershield_mono(timer) < *expires_next) {
			/* Below 0 once a clock has been set back, as in the stock queues */
			*expires_next = max(timershield_mono(timer), 0);
			*next_timer = timer;
		}
	}
	sc->hidden[soft] = hidden;
}

/* The timer at a position of a queue; NULL behind its end */
struct hrtimer *timershield_nth(struct hrtimer_clock_base *base, unsigned long nth)
{
	struct timershield_cpu *sc = timershield_of(base->cpu_base);
	struct rb_node *node = rb_first_cached(&sc->queue[base->index]);

	while (node && nth--)
		node = rb_next(node);
	return node ? to_hrtimer(node) : NULL;
}

/* Change the level of a timer, queued or not. */
void timershield_change_level(struct hrtimer *timer, u8 level)
{
	struct hrtimer_cpu_base *cpu_base = timer->base->cpu_base;
	struct timershield_cpu *sc = timershield_of(cpu_base);
	u8 old = timer->queued_level;

	WRITE_ONCE(timer->level, level);
	if (!old || old == level)
		return;
	timershield_queue_relevel(timer, level);
	if (level < sc->threshold) {
		hide(sc, timer, timershield_mono(timer));
	} else if (old < sc->threshold && timershield_mono(timer) < cpu_base->expires_next) {
		if (cpu_base->cpu == smp_processor_id())
			hrtimer_update_mask(cpu_base);
		else
			smp_call_function_single_async(cpu_base->cpu, &cpu_base->csd);
	}
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
	if (p->sleep_base == cpu_base)
		timershield_change_level(p->sleep_timer, level);
	raw_spin_unlock(&cpu_base->lock);
}

static noinline void timershield_set_threshold(struct timershield_cpu *sc, u8 level, bool same)
{
	struct hrtimer_cpu_base *cpu_base = this_cpu_ptr(&hrtimer_bases);

	trace_timershield_threshold(sc->threshold, level);
	guard(raw_spinlock)(&cpu_base->lock);
	if (level < sc->threshold && !same)
		sc->fell = ktime_get();
	sc->threshold = level;
	if (!same)
		hrtimer_update_mask(cpu_base);
}

/*
 * The level of what a CPU runs changes. Where the next event stays what it is,
 * there is nothing else to do: the lock is not needed.
 */
void __timershield_switch(u8 level)
{
	struct timershield_cpu *sc = this_cpu_ptr(&timershield_cpus);
	struct hrtimer_cpu_base *cpu_base = this_cpu_ptr(&hrtimer_bases);
	bool same = level < sc->threshold ?
		    min(READ_ONCE(sc->hidden[0]), READ_ONCE(sc->hidden[1])) >=
		    cpu_base->expires_next :
		    sc->next_level >= level;

	if (same && !trace_timershield_threshold_enabled())
		WRITE_ONCE(sc->threshold, level);
	else
		timershield_set_threshold(sc, level, same);
}

bool __timershield_prio_changed(struct task_struct *p, int running_on)
{
	u8 level = timershield_level(p), threshold;
	struct timershield_cpu *sc;

	timershield_follow(p, level);
	if (running_on < 0)
		return false;
	sc = per_cpu_ptr(&timershield_cpus, running_on);
	threshold = READ_ONCE(sc->threshold);
	if (level <= threshold)
		return level < threshold;
	if (running_on == smp_processor_id()) {
		__timershield_switch(level);
		return false;
	}
	/* Not worth an interrupt there: at worst the device fires once in vain. */
	guard(raw_spinlock)(&per_cpu(hrtimer_bases, running_on).lock);
	sc->threshold = max(sc->threshold, level);
	return false;
}

bool __hrtimer_claim_held(struct hrtimer *timer)
{
	return hrtimer_get_expires(timer) <= hrtimer_cb_get_time(timer) &&
	       hrtimer_try_to_cancel(timer) > 0;
}

/**
 * timershield_pid_level - the level of a timer that sends a signal
 * @pid: the thread or process that gets it
 * @type: PIDTYPE_PID for a thread, PIDTYPE_TGID for a process
 *
 * Return: the level of the thread, or the highest one among the first threads
 * of the process. What is missed there costs a tick.
 */
u8 timershield_pid_level(struct pid *pid, enum pid_type type)
{
	unsigned int nr = TIMERSHIELD_THREADS;
	struct task_struct *p, *thread;
	u8 level = TIMERSHIELD_FAIR;

	guard(rcu)();
	p = pid_task(pid, type);
	if (!p)
		return level;
	if (type == PIDTYPE_PID)
		return timershield_level(p);
	for_each_thread(p, thread) {
		level = max(level, timershield_level(thread));
		if (!--nr)
			break;
	}
	return level;
}
