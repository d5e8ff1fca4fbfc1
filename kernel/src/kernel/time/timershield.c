// SPDX-License-Identifier: GPL-2.0-only
/*
 * TimerShield: the queues of the timers that tasks have armed, and what they mask
 *
 * P. Patel, M. Vanga, B. B. Brandenburg: TimerShield: Protecting High-Priority
 * Tasks from Low-Priority Timer Interference, RTAS 2017.
 */
#include <linux/hrtimer.h>
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
DEFINE_PER_CPU(struct timershield_cpu, timershield_cpus);
/* Timers that are armed from now on are queued by level. Read under a base lock. */
bool timershield_on;

static_assert(TIMERSHIELD_QUEUES == HRTIMER_MAX_CLOCK_BASES);
static_assert(TIMERSHIELD_DEADLINE < TIMERSHIELD_CRITICAL);

#define for_each_queue(index, sc, mask)						\
	for (unsigned int __active = (sc)->active & (mask);			\
	     __active && ({ index = __ffs(__active); true; });			\
	     __active &= __active - 1)

static inline struct timershield_cpu *shield_of(const struct hrtimer_cpu_base *cpu_base)
{
	return per_cpu_ptr(&timershield_cpus, cpu_base->cpu);
}

static inline unsigned int queues(bool soft)
{
	return soft ? GENMASK(HRTIMER_BASE_TAI_SOFT, HRTIMER_BASE_MONOTONIC_SOFT) :
		      GENMASK(HRTIMER_BASE_TAI, HRTIMER_BASE_MONOTONIC);
}

static inline struct hrtimer *leftmost(struct timershield_cpu *sc, unsigned int index)
{
	return to_hrtimer(rb_first_cached(&sc->queue[index]));
}

/* The expiry of a timer in CLOCK_MONOTONIC */
static inline ktime_t mono(const struct hrtimer_clock_base *base, const struct hrtimer *timer)
{
	return ktime_sub(hrtimer_get_expires(timer), base->offset);
}

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
	struct timershield_cpu *sc = shield_of(cpu_base);
	ktime_t expires = mono(base, timer);

	timershield_queue_add(&sc->queue[base->index], timer, timer->level);
	sc->active |= BIT(base->index);
	/* A task knows the first timer that it arms, see timershield_follow(). */
	if (sleeper == current && !current->sleep_base) {
		current->sleep_timer = timer;
		/* Pairs with timershield_follow() */
		smp_store_release(&current->sleep_base, cpu_base);
	}
	if (timer->queued_level < sc->threshold) {
		hide(sc, timer, expires);
		return false;
	}
	/* The first soft timer is compared by hrtimer_reprogram(). */
	return timer->is_soft || expires < cpu_base->expires_next;
}

/**
 * timershield_dequeue - remove a timer from the queues
 * @timer: the timer
 * @base: its clock base
 * @sleeper: as for timershield_enqueue()
 */
void timershield_dequeue(struct hrtimer *timer, struct hrtimer_clock_base *base,
			 struct task_struct *sleeper)
{
	struct timershield_cpu *sc = shield_of(base->cpu_base);
	bool empty = !timershield_queue_del(&sc->queue[base->index], timer);

	if (sleeper && sleeper->sleep_timer == timer)
		WRITE_ONCE(sleeper->sleep_base, NULL);
	if (!empty)
		return;
	sc->active &= ~BIT(base->index);
	if (!sc->active) {
		sc->hidden[0] = KTIME_MAX;
		sc->hidden[1] = KTIME_MAX;
	}
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
	struct timershield_cpu *sc = shield_of(cpu_base);
	ktime_t hidden = KTIME_MAX;
	unsigned int index;

	for_each_queue(index, sc, queues(soft)) {
		struct hrtimer_clock_base *base = &cpu_base->clock_base[index];
		struct hrtimer *timer = leftmost(sc, index);

		if (timer->queued_level < sc->threshold) {
			hidden = min(hidden, mono(base, timer));
			timer = first_at(&sc->queue[index], sc->threshold);
			if (!timer)
				continue;
		}
		if (mono(base, timer) < *expires_next) {
			/* Below 0 once a clock has been set back, as in the stock queues */
			*expires_next = max(mono(base, timer), 0);
			*next_timer = timer;
		}
	}
	sc->hidden[soft] = hidden;
}

/* The earliest expiry of all timers, for a CPU that is idle and masks nothing */
ktime_t timershield_earliest(struct hrtimer_cpu_base *cpu_base, ktime_t expires_next)
{
	struct timershield_cpu *sc = shield_of(cpu_base);
	unsigned int index;

	for_each_queue(index, sc, ~0U)
		expires_next = min(expires_next, mono(&cpu_base->clock_base[index],
						      leftmost(sc, index)));
	return expires_next;
}

/* The timer at a position of a queue; NULL behind its end */
struct hrtimer *timershield_nth(struct hrtimer_clock_base *base, unsigned long nth)
{
	struct rb_node *node = rb_first_cached(&shield_of(base->cpu_base)->queue[base->index]);

	while (node && nth--)
		node = rb_next(node);
	return node ? to_hrtimer(node) : NULL;
}

/* A timer expires. Had it been masked? */
static void count(struct timershield_cpu *sc, struct timershield_run *run,
		  struct hrtimer *timer, bool tick)
{
	ktime_t expires = mono(timer->base, timer);

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
	struct timershield_cpu *sc = shield_of(cpu_base);
	struct hrtimer *next = NULL;
	unsigned int index;

	for_each_queue(index, sc, queues(soft)) {
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
	struct timershield_cpu *sc = shield_of(cpu_base);
	ktime_t expires = ktime_sub_ns(now, TICK_NSEC);
	struct hrtimer *held = NULL;
	unsigned int index;

	for_each_queue(index, sc, queues(soft)) {
		struct hrtimer *timer = leftmost(sc, index);

		if (mono(timer->base, timer) <= expires) {
			expires = mono(timer->base, timer);
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
	struct timershield_cpu *sc = shield_of(cpu_base);
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
		if (run->nr < TIMERSHIELD_BATCH && !(sc->active & queues(true)))
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
	return shield_of(cpu_base)->tick && next_held(cpu_base, true, now);
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
		count(shield_of(cpu_base), run, timer, false);
	return timer;
}

/**
 * timershield_change_level - change the level of a timer, queued or not
 * @base: the clock base that it belongs to
 * @timer: the timer
 * @level: its level from now on
 */
void timershield_change_level(struct hrtimer_clock_base *base, struct hrtimer *timer, u8 level)
{
	struct hrtimer_cpu_base *cpu_base = base->cpu_base;
	struct timershield_cpu *sc = shield_of(cpu_base);
	u8 old = timer->queued_level;

	WRITE_ONCE(timer->level, level);
	if (!old || old == level)
		return;
	timershield_queue_relevel(timer, level);
	if (level < sc->threshold) {
		hide(sc, timer, mono(base, timer));
	} else if (old < sc->threshold && mono(base, timer) < cpu_base->expires_next) {
		if (cpu_base->cpu == smp_processor_id())
			hrtimer_update_mask(cpu_base, true);
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
	/* Pairs with timershield_enqueue() */
	struct hrtimer_cpu_base *cpu_base = smp_load_acquire(&p->sleep_base);

	if (!cpu_base)
		return;
	raw_spin_lock(&cpu_base->lock);
	if (p->sleep_base == cpu_base)
		timershield_change_level(p->sleep_timer->base, p->sleep_timer, level);
	raw_spin_unlock(&cpu_base->lock);
}

/*
 * The level of what a CPU runs changes. Where the next event stays what it is,
 * there is nothing else to do: the lock is not needed.
 */
void __timershield_switch(u8 level)
{
	struct timershield_cpu *sc = this_cpu_ptr(&timershield_cpus);
	struct hrtimer_cpu_base *cpu_base = this_cpu_ptr(&hrtimer_bases);
	bool fall = level < sc->threshold;

	trace_timershield_threshold(sc->threshold, level);
	if (fall ? min(sc->hidden[0], sc->hidden[1]) >= cpu_base->expires_next :
		   sc->next_level >= level) {
		WRITE_ONCE(sc->threshold, level);
		return;
	}
	raw_spin_lock(&cpu_base->lock);
	sc->threshold = level;
	if (fall)
		sc->fell = ktime_get();
	hrtimer_update_mask(cpu_base, fall);
	raw_spin_unlock(&cpu_base->lock);
}

bool __timershield_prio_changed(struct task_struct *p, int running_on)
{
	u8 level = timershield_level(p);
	struct hrtimer_cpu_base *cpu_base;
	struct timershield_cpu *sc;

	timershield_follow(p, level);
	if (running_on < 0)
		return false;
	sc = per_cpu_ptr(&timershield_cpus, running_on);
	if (level <= sc->threshold)
		return level < sc->threshold;
	if (running_on == smp_processor_id()) {
		__timershield_switch(level);
		return false;
	}
	/* Not worth an interrupt there: at worst the device fires once in vain. */
	cpu_base = per_cpu_ptr(&hrtimer_bases, running_on);
	raw_spin_lock(&cpu_base->lock);
	sc->threshold = max(sc->threshold, level);
	raw_spin_unlock(&cpu_base->lock);
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
