// SPDX-License-Identifier: GPL-2.0-only
/*
 * The queues of owned timers: timers come in, change their level, and go back to the kernel.
 *
 * Locks: a runqueue's, then that of a CPU's shield_bases, then that of the kernel's queues.
 */
#include <linux/debugobjects.h>

#include "queue.h"

/* The kernel's is not exported; it knows, too, how to mend what is wrong. */
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

/* The minimum of the level is put right when it is looked at. */
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

/*
 * Arm a timer for a task of @level. False: the kernel should; that is the case if its callback
 * runs now, for then it has to stay where it is.
 */
bool shield_start(struct shield *shield, struct hrtimer *timer, u8 level, ktime_t time,
		  u64 slack, enum hrtimer_mode mode)
{
	struct hrtimer_clock_base *old = READ_ONCE(timer->base), *queue;
	enum shield_context context;
	ktime_t expires;
	bool first;

	if (!shield->on)
		return false;
	if (mode & HRTIMER_MODE_REL)
		time = ktime_add_safe(time, hrtimer_cb_get_time(timer));
	/* What has expired already was never masked; 7.3 refuses such a timer. */
	if (queue_expiry(old, time) <= ktime_get())
		return false;
	queue = &shield->bases->queue[level * HRTIMER_MAX_CLOCK_BASES + old->index];
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
	first = first_timer(queue) == timer;
	expires = max(queue_expiry(queue, timer->node.expires), 0);
	raw_spin_unlock(&queue->cpu_base->lock);

	context = context_of(queue);
	if (first && level >= shield->core.threshold && expires < shield->armed[context])
		shield_arm(shield, context, expires);
	/* Somebody polled it before it was here: pairs with the cmpxchg in raise(). */
	smp_mb();
	if (READ_ONCE(*shield_raised(timer)) > level)
		shield_move(timer, level);
	return true;
}

/* The one of our queues that a timer points to; that may be anywhere. */
static struct hrtimer_clock_base *our_queue(const struct hrtimer *timer)
{
	struct hrtimer_clock_base *queue = READ_ONCE_NOCHECK(timer->base);
	int cpu;

	for_each_possible_cpu(cpu) {
		unsigned long offset = (void *)queue -
				       (void *)per_cpu(timershield_bases, cpu)->queue;

		if (offset < SHIELD_QUEUES * sizeof(*queue))
			return offset % sizeof(*queue) ? NULL : queue;
	}
	return NULL;
}

/* Timers of equal expiry that are looked at, under a lock, for one of them */
#define SHIELD_EQUALS	64

/* Nothing is believed of the timer but where it is. */
static bool is_in(const struct hrtimer_clock_base *queue, const struct hrtimer *timer)
{
	struct rb_node *node = queue->active.rb_root.rb_root.rb_node, *found = NULL;
	ktime_t expires = READ_ONCE_NOCHECK(timer->node.expires);
	unsigned int left;

	while (node) {
		if (ts_timer_of(node)->node.expires < expires) {
			node = node->rb_right;
		} else {
			found = node;
			node = node->rb_left;
		}
	}
	/* Whoever arms many timers for one time waits for a tick. */
	for (left = SHIELD_EQUALS; found && left-- && ts_timer_of(found) != timer &&
	     ts_timer_of(found)->node.expires == expires;)
		found = rb_next(found);
	return found && ts_timer_of(found) == timer;
}

/*
 * What may be a timer, in memory that can be read, has another level now, if it is one and in
 * one of our queues. It stays among these, and points to one of them all the time, for its
 * readers. Those that raise a timerfd's level may come here in another order than they did.
 */
void shield_move(struct hrtimer *timer, u8 level)
{
	struct hrtimer_clock_base *from = our_queue(timer), *to;
	struct hrtimer_cpu_base *base;
	struct shield_bases *bases;
	unsigned long flags;
	bool moved = false;

	if (!from)
		return;
	base = from->cpu_base;
	bases = container_of(base, struct shield_bases, base);
	raw_spin_lock_irqsave(&base->lock, flags);
	if (READ_ONCE_NOCHECK(timer->base) == from && from->running != timer &&
	    is_in(from, timer)) {
		level = max(level, READ_ONCE(*shield_raised(timer)));
		level = min(level, TIMERSHIELD_DEADLINE);
		to = &bases->queue[level * HRTIMER_MAX_CLOCK_BASES + from->index];
		queue_del(from, timer);
		WRITE_ONCE(timer->base, to);
		queue_add(to, timer);
		moved = to != from;
	}
	raw_spin_unlock_irqrestore(&base->lock, flags);
	if (moved)
		shield_kick(base->cpu);
}

static void update_all_minima(struct timershield_cpu *core)
{
	unsigned int level;

	for (level = TIMERSHIELD_FAIR; level <= TIMERSHIELD_DEADLINE; level++) {
		timershield_update_minima(core, level, SHIELD_HARD);
		timershield_update_minima(core, level, SHIELD_SOFT);
	}
}

/* A clock was set: what its timers have in the minima is out of date. */
void queues_clock_set(struct shield *shield, ktime_t now)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&shield->bases->base.lock, flags);
	shield->core.clock_set = now;
	shield->held = now;
	update_all_minima(&shield->core);
	raw_spin_unlock_irqrestore(&shield->bases->base.lock, flags);
}

static void drain(struct hrtimer_clock_base *from, struct hrtimer_clock_base *to)
{
	struct hrtimer *timer;

	while ((timer = first_timer(from))) {
		queue_del(from, timer);
		WRITE_ONCE(timer->base, to);
		insert(to, timer);
		to->cpu_base->active_bases |= 1 << to->index;
	}
}

/* Give all timers back to the kernel. Never by way of a third queue: see shield_move(). */
void queues_drain(struct shield *shield)
{
	struct shield_bases *bases = shield->bases;
	struct hrtimer_cpu_base *stock = shield->stock;
	int i;

	raw_spin_lock(&bases->base.lock);
	raw_spin_lock_nested(&stock->lock, SINGLE_DEPTH_NESTING);
	for (i = 0; i < SHIELD_QUEUES; i++)
		drain(&bases->queue[i], &stock->clock_base[i % HRTIMER_MAX_CLOCK_BASES]);
	raw_spin_unlock(&stock->lock);
	update_all_minima(&shield->core);
	raw_spin_unlock(&bases->base.lock);
}
