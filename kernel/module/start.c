// SPDX-License-Identifier: GPL-2.0-only
/*
 * Put owned timers into the queues, and change their levels.
 *
 * Locks: a runqueue's, then that of a CPU's shield_bases, then that of the kernel's queues.
 */
#include <linux/jiffies.h>
#include <linux/uaccess.h>

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
		shield_move(timer, level, true);
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

/* A red-black tree is not higher, whatever number of timers there is memory for. */
#define SHIELD_HEIGHT	128

/*
 * Trusts no field of the timer, only its address: it is in the queue if each node, from its own
 * to the root of the queue, is a child of the one above.
 */
static bool is_in(const struct hrtimer_clock_base *queue, const struct hrtimer *timer)
{
	const struct rb_node *root = queue->active.rb_root.rb_root.rb_node, *node = ts_node_of(timer);
	unsigned int left = SHIELD_HEIGHT;
	struct rb_node copy;

	if (copy_from_kernel_nofault(&copy, node, sizeof(copy)))
		return false;
	for (; node != root && left; left--) {
		const struct rb_node *above = rb_parent(&copy);

		if (copy_from_kernel_nofault(&copy, above, sizeof(copy)) ||
		    (copy.rb_left != node && copy.rb_right != node))
			return false;
		node = above;
	}
	return root && node == root;
}

/* Take a timer out of our queues that is held there. True if it was, and will not expire. */
bool shield_claim(struct hrtimer *timer)
{
	struct hrtimer_clock_base *queue = our_queue(timer);
	struct hrtimer_cpu_base *base;
	unsigned long flags;
	bool held;

	if (!queue)
		return false;
	base = queue->cpu_base;
	raw_spin_lock_irqsave(&base->lock, flags);
	held = READ_ONCE(timer->base) == queue && queue->running != timer && timer->timer_queued &&
	       queue_expiry(queue, timer->node.expires) <= ktime_get();
	if (held) {
		queue_del(queue, timer);
		WRITE_ONCE(timer->timer_queued, 0);
	}
	raw_spin_unlock_irqrestore(&base->lock, flags);
	return held;
}

/*
 * If a timer is in one of our queues, change its level. For its readers it stays in these queues,
 * and always points to one of them. Tasks that raise a timerfd's level may come here in another
 * order than they raised it. @sure: it is a timer; else it is readable memory that may be one.
 */
void shield_move(struct hrtimer *timer, u8 level, bool sure)
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
	    (sure ? timer->timer_queued : is_in(from, timer))) {
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
