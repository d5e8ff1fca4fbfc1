// SPDX-License-Identifier: GPL-2.0-only
/* The queues of owned timers, their minima, and how timers go back to the kernel. */
#include <linux/debugobjects.h>

#include "shield.h"

/* Timers that go back to the kernel with interrupts disabled */
#define BATCH	32

/* The kernel's own is not exported; that also has functions that repair a wrong state. */
static const struct debug_obj_descr hrtimer_descr = { .name = "hrtimer" };

/* Into the kernel's queues, too. */
static void insert(struct hrtimer_clock_base *queue, struct hrtimer *timer)
{
	if (IS_ENABLED(CONFIG_DEBUG_OBJECTS_TIMERS))
		debug_object_activate(timer, &hrtimer_descr);
	ts_queue_add(&queue->active, &timer->node);
	first_timer_changed(queue);
}

void queue_add(struct hrtimer_clock_base *queue, struct hrtimer *timer)
{
	insert(queue, timer);
	minima_lower(&per_cpu(shields, queue->cpu_base->cpu).minima, queue_level(queue),
		     queue_expiry(queue, timer->node.expires));
}

/* The minimum of the level is corrected when it is read. */
void queue_del(struct hrtimer_clock_base *queue, struct hrtimer *timer)
{
	if (IS_ENABLED(CONFIG_DEBUG_OBJECTS_TIMERS))
		debug_object_deactivate(timer, &hrtimer_descr);
	ts_queue_del(&queue->active, &timer->node);
	first_timer_changed(queue);
}

static u8 highest_level(const struct shield_bases *bases)
{
	return bases->realtime ? TIMERSHIELD_DEADLINE : TIMERSHIELD_ORDINARY;
}

/* The first timer of a level; NULL if there is none */
struct hrtimer *queue_first(struct shield *shield, u8 level)
{
	struct shield_level *at = level_at(shield->bases, level);
	struct hrtimer *first = NULL;
	int clock;

	for (clock = 0; clock < SHIELD_CLOCKS; clock++) {
		struct hrtimer *timer = first_timer(&at->queue[clock]);

		if (timer && (!first || timer_expiry(timer) < timer_expiry(first)))
			first = timer;
	}
	return first;
}

void queue_correct(struct shield *shield, u8 level)
{
	const struct hrtimer *first = queue_first(shield, level);

	minima_set(&shield->minima, level, first ? timer_expiry(first) : KTIME_MAX);
}

static void correct_all(struct shield *shield)
{
	u8 level;

	for (level = TIMERSHIELD_ORDINARY; level <= highest_level(shield->bases); level++)
		queue_correct(shield, level);
}

/*
 * A clock was set: the minima of its timers are out of date, and what has expired by that has been
 * held only since now. A clock that is set all the time puts off no hold for ever.
 */
void queues_clock_set(struct shield *shield)
{
	ktime_t now = ktime_get();
	unsigned long flags;

	raw_spin_lock_irqsave(&shield->bases->base.lock, flags);
	correct_all(shield);
	if (now - shield->served > 2 * TICK_NSEC)
		shield->served = now + TICK_NSEC / 2;
	raw_spin_unlock_irqrestore(&shield->bases->base.lock, flags);
}

/* A timer goes back to the kernel, which does not look at it before its next interrupt. */
static void give_back(struct shield *shield, struct hrtimer_clock_base *from,
		      struct hrtimer *timer)
{
	struct hrtimer_clock_base *to = &shield->stock->clock_base[from->index];

	queue_del(from, timer);
	WRITE_ONCE(timer->base, to);
	insert(to, timer);
	shield->stock->active_bases |= 1 << to->index;
}

/* Give a few timers back; true if there may be more. */
bool queues_drain(struct shield *shield)
{
	struct shield_bases *bases = shield->bases;
	u8 level = highest_level(bases);
	unsigned int nr = BATCH;
	struct hrtimer *timer;

	raw_spin_lock(&bases->base.lock);
	raw_spin_lock_nested(&shield->stock->lock, SINGLE_DEPTH_NESTING);
	for (; nr && level >= TIMERSHIELD_ORDINARY; level--)
		for (; nr && (timer = queue_first(shield, level)); nr--)
			give_back(shield, timer->base, timer);
	raw_spin_unlock(&shield->stock->lock);
	correct_all(shield);
	raw_spin_unlock(&bases->base.lock);
	return !nr;
}

/*
 * A task of @level waits for this timer: if it is queued here at a lower level, it goes back.
 * Return the CPU that has to set its device, or -1.
 */
int queue_release(struct hrtimer *timer, u8 level)
{
	struct hrtimer_clock_base *queue = READ_ONCE(timer->base);
	struct hrtimer_cpu_base *base = queue->cpu_base;
	struct shield *shield = per_cpu_ptr(&shields, base->cpu);
	unsigned long flags;
	bool masked;

	if (base != &shield->bases->base)
		return -1;
	raw_spin_lock_irqsave(&base->lock, flags);
	masked = READ_ONCE(timer->base) == queue && queue->running != timer &&
		 timer->timer_queued && queue_level(queue) < level;
	if (masked) {
		raw_spin_lock_nested(&shield->stock->lock, SINGLE_DEPTH_NESTING);
		give_back(shield, queue, timer);
		shield->returned = true;
		raw_spin_unlock(&shield->stock->lock);
	}
	raw_spin_unlock_irqrestore(&base->lock, flags);
	return masked ? base->cpu : -1;
}
