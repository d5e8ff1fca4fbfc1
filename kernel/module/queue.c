// SPDX-License-Identifier: GPL-2.0-only
/* The queues of owned timers, their minima, and how timers go back to the kernel. */
#include <linux/debugobjects.h>

#include "queue.h"

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
	struct timershield_cpu *core = &per_cpu(shields, queue->cpu_base->cpu).core;
	u8 level = queue_level(queue);

	insert(queue, timer);
	core->clocks[level] |= BIT(queue->index);
	minima_lower(&core->minima[context_of(queue)], level,
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

/* The first timer of a level; NULL if there is none */
struct hrtimer *timershield_first_of(struct timershield_cpu *core, u8 level, bool soft)
{
	struct shield *shield = container_of(core, struct shield, core);
	unsigned int half = HRTIMER_MAX_CLOCK_BASES / 2;
	unsigned int clocks = core->clocks[level] & (GENMASK(half - 1, 0) << (soft ? half : 0));
	struct hrtimer *first = NULL;

	for (; clocks; clocks &= clocks - 1) {
		unsigned int clock = __ffs(clocks);
		struct hrtimer *timer = first_timer(&shield->bases->queue[level *
						    HRTIMER_MAX_CLOCK_BASES + clock]);

		if (!timer)
			core->clocks[level] &= ~BIT(clock);
		else if (!first || timershield_mono(timer) < timershield_mono(first))
			first = timer;
	}
	return first;
}

void timershield_update_minima(struct timershield_cpu *core, u8 level, bool soft)
{
	const struct hrtimer *first = timershield_first_of(core, level, soft);

	minima_set(&core->minima[soft], level, first ? timershield_mono(first) : KTIME_MAX);
}

static void update_all_minima(struct timershield_cpu *core)
{
	unsigned int level;

	for (level = TIMERSHIELD_ORDINARY; level <= TIMERSHIELD_DEADLINE; level++) {
		timershield_update_minima(core, level, SHIELD_HARD);
		timershield_update_minima(core, level, SHIELD_SOFT);
	}
}

/* A clock was set: the minima of its timers are out of date. */
void queues_clock_set(struct shield *shield, ktime_t now)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&shield->bases->base.lock, flags);
	/* As in the kernel part: a clock that is set all the time puts off no hold for ever. */
	if (now - shield->core.clock_set > 2 * TICK_NSEC)
		shield->core.clock_set = now;
	if (!shield_empty(shield))
		update_all_minima(&shield->core);
	raw_spin_unlock_irqrestore(&shield->bases->base.lock, flags);
}

static unsigned int drain(struct hrtimer_clock_base *from, struct hrtimer_clock_base *to,
			  unsigned int nr)
{
	struct hrtimer *timer;

	for (; nr && (timer = first_timer(from)); nr--) {
		queue_del(from, timer);
		WRITE_ONCE(timer->base, to);
		insert(to, timer);
		to->cpu_base->active_bases |= 1 << to->index;
	}
	return nr;
}

/*
 * Give a few timers back to the kernel; true if there may be more. Never by way of a third queue:
 * see shield_move().
 */
bool queues_drain(struct shield *shield)
{
	struct shield_bases *bases = shield->bases;
	struct hrtimer_cpu_base *stock = shield->stock;
	unsigned int i, nr = TIMERSHIELD_BATCH;

	raw_spin_lock(&bases->base.lock);
	raw_spin_lock_nested(&stock->lock, SINGLE_DEPTH_NESTING);
	for (i = 0; i < SHIELD_QUEUES && nr; i++)
		nr = drain(&bases->queue[i], &stock->clock_base[i % HRTIMER_MAX_CLOCK_BASES], nr);
	raw_spin_unlock(&stock->lock);
	if (nr)
		update_all_minima(&shield->core);
	raw_spin_unlock(&bases->base.lock);
	return !nr;
}
