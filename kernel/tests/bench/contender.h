/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the benchmark knows about a queue. The loops that are timed are made
 * for each contender by batches.h, so that they call it as directly as the
 * kernel would.
 */
#ifndef CONTENDER_H
#define CONTENDER_H

#include <linux/hrtimer_bases.h>
#include <linux/types.h>

/* Levels of the workload, from 0, which the queue that ships has one higher */
#define MAX_LEVELS	101

/*
 * Operations timed in one go. The counter of many CPUs advances in steps of
 * 10 ns and more, so that one operation cannot be told from its neighbour.
 */
#define BATCH	32

/**
 * struct contender - a queue under test
 * @name:	in tables
 * @size:	of one queue in bytes
 * @levels:	false for stock timerqueue, which ignores thresholds
 * @init:	makes an empty queue
 * @add:	queue a timer at its level; true if it is the first
 * @del:	remove a timer; true if others remain
 * @first:	the first at or above a level; which of equal expiries is free
 * @highest:	the first of the highest level that has expired, at or above a level
 * @dequeue_batch: @del of BATCH timers
 * @enqueue_batch: @add of BATCH timers
 * @query_batch: @first with BATCH thresholds
 * @pop_batch:	@first with threshold 0, and @del, BATCH times
 * @serve:	@highest and @del until the queue is empty; returns how often
 *
 * Operation i of a batch goes to queue i % queues.
 */
struct contender {
	const char *name;
	size_t size;
	bool levels;
	void (*init)(void *queue);
	bool (*add)(void *queue, struct hrtimer *timer);
	bool (*del)(void *queue, struct hrtimer *timer);
	struct hrtimer *(*first)(void *queue, u8 threshold);
	struct hrtimer *(*highest)(void *queue, ktime_t now, u8 threshold);
	void (*dequeue_batch)(void **queue, unsigned int queues,
			      struct hrtimer **timer);
	void (*enqueue_batch)(void **queue, unsigned int queues,
			      struct hrtimer **timer);
	void (*query_batch)(void **queue, unsigned int queues,
			    const u8 *threshold, struct hrtimer **found);
	void (*pop_batch)(void **queue, unsigned int queues,
			  struct hrtimer **popped);
	unsigned int (*serve)(void *queue);
};

/* Stock first: it is what the others are compared with. */
extern const struct contender stock_contender;
extern const struct contender shield_contender;
extern const struct contender indexed_contender;

static const struct contender *const contenders[] = {
	&stock_contender, &shield_contender, &indexed_contender,
};
static const size_t nr_contenders = sizeof(contenders) / sizeof(contenders[0]);

#endif /* CONTENDER_H */
