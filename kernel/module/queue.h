/* SPDX-License-Identifier: GPL-2.0-only */
/* What a CPU's queues look like to the code that expires their timers. */
#ifndef TIMERSHIELD_QUEUE_H
#define TIMERSHIELD_QUEUE_H

#include "shield.h"

/* By CLOCK_MONOTONIC. The kernel keeps the offset up to date, also when a clock is set. */
static inline ktime_t queue_expiry(const struct shield *shield,
				   const struct hrtimer_clock_base *queue, ktime_t expires)
{
	return ktime_sub(expires, READ_ONCE(shield->stock->clock_base[queue->index].offset));
}

/* Where a timer of the queue at this position expires. */
static inline enum shield_context context_of(unsigned int position)
{
	return position % HRTIMER_MAX_CLOCK_BASES < HRTIMER_MAX_CLOCK_BASES / 2 ?
	       SHIELD_HARD : SHIELD_SOFT;
}

static inline bool is_masked(const struct shield *shield, unsigned int position)
{
	return position < shield->level * HRTIMER_MAX_CLOCK_BASES;
}

/* With the lock held. */
void queue_add(struct hrtimer_clock_base *queue, struct hrtimer *timer);
void queue_del(struct hrtimer_clock_base *queue, struct hrtimer *timer);
void queues_drain(struct shield *shield);

#endif
