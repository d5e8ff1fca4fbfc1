/* SPDX-License-Identifier: GPL-2.0-only */
/* A CPU's queues, as the code that expires their timers sees them. */
#ifndef TIMERSHIELD_QUEUE_H
#define TIMERSHIELD_QUEUE_H

#include "shield.h"

/* By CLOCK_MONOTONIC. The kernel keeps the offset up to date, also when a clock is set. */
static inline ktime_t queue_expiry(const struct hrtimer_clock_base *queue, ktime_t expires)
{
	const struct hrtimer_cpu_base *stock = per_cpu_ptr(timershield_stock, queue->cpu_base->cpu);

	return ktime_sub(expires, READ_ONCE(stock->clock_base[queue->index].offset));
}

static inline ktime_t timershield_mono(const struct hrtimer *timer)
{
	return queue_expiry(timer->base, timer->node.expires);
}

static inline ktime_t timershield_softmono(const struct hrtimer *timer)
{
	return queue_expiry(timer->base, hrtimer_get_softexpires(timer));
}

static inline u8 queue_level(const struct hrtimer_clock_base *queue)
{
	struct shield_bases *bases = container_of(queue->cpu_base, struct shield_bases, base);

	return (queue - bases->queue) / HRTIMER_MAX_CLOCK_BASES;
}

static inline u8 timershield_queued_level(const struct hrtimer *timer)
{
	return queue_level(timer->base);
}

static inline enum shield_context context_of(const struct hrtimer_clock_base *queue)
{
	return queue->index < HRTIMER_MAX_CLOCK_BASES / 2 ? SHIELD_HARD : SHIELD_SOFT;
}

/* With the lock held. */
struct hrtimer *timershield_first_of(struct timershield_cpu *core, u8 level, bool soft);
void timershield_update_minima(struct timershield_cpu *core, u8 level, bool soft);
void queue_add(struct hrtimer_clock_base *queue, struct hrtimer *timer);
void queue_del(struct hrtimer_clock_base *queue, struct hrtimer *timer);
bool queues_drain(struct shield *shield);

#endif
