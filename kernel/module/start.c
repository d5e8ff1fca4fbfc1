// SPDX-License-Identifier: GPL-2.0-only
/*
 * Put owned timers into the queues, and change their levels.
 *
 * Locks: a runqueue's, then that of a CPU's shield_bases, then that of the kernel's queues.
 */
#include <linux/jiffies.h>

#include "queue.h"

/*
 * Arm a timer for a task of @level. False: the kernel must arm it, because its callback runs now
 * and it has to stay where it is.
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
	/* A masked one is held for a tick, as in next_event(). */
	if (level < shield->core.threshold && expires < KTIME_MAX - 2 * TICK_NSEC)
		expires = roundup(expires, TICK_NSEC) + TICK_NSEC;
	if (first && expires < shield->armed[context])
		shield_arm(shield, context, expires);
	/* A task polled it before it was queued here: pairs with the cmpxchg in raise(). */
	smp_mb();
	if (READ_ONCE(*shield_raised(timer)) > level)
		shield_move(timer, level);
	return true;
}

/* The one of our queues that a timer points to. The pointer may be anything. */
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

/* How many timers of equal expiry are compared, under a lock, to find one of them */
#define SHIELD_EQUALS	64

/* Trusts no field of the timer, only its address. */
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
	/* A process that arms many timers for one time waits for a tick. */
	for (left = SHIELD_EQUALS; found && left-- && ts_timer_of(found) != timer &&
	     ts_timer_of(found)->node.expires == expires;)
		found = rb_next(found);
	return found && ts_timer_of(found) == timer;
}

/*
 * @timer is readable memory that may be a timer. If it is one in one of our queues, change its
 * level. For its readers it stays in these queues, and always points to one of them. Tasks that
 * raise a timerfd's level may come here in another order than they raised it.
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
