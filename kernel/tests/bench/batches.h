/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The timed loops. A contender's file defines its functions, PREFIX as the
 * beginning of their names, and includes this once. serialize() keeps one
 * operation from beginning before the last has ended.
 */
#include "cycles.h"

#define CONCATENATE(_a, _b)	_a ## _ ## _b
#define NAME_OF(_prefix, _name)	CONCATENATE(_prefix, _name)
#define OWN(_name)		NAME_OF(PREFIX, _name)

static void OWN(dequeue_batch)(void **queue, unsigned int queues,
			       struct hrtimer **timer)
{
	for (unsigned int i = 0; i < BATCH; i++) {
		OWN(del)(queue[i % queues], timer[i]);
		serialize();
	}
}

static void OWN(enqueue_batch)(void **queue, unsigned int queues,
			       struct hrtimer **timer)
{
	for (unsigned int i = 0; i < BATCH; i++) {
		OWN(add)(queue[i % queues], timer[i]);
		serialize();
	}
}

static void OWN(query_batch)(void **queue, unsigned int queues,
			     const u8 *threshold, struct hrtimer **found)
{
	for (unsigned int i = 0; i < BATCH; i++) {
		found[i] = OWN(first)(queue[i % queues], threshold[i]);
		serialize();
	}
}

static void OWN(pop_batch)(void **queue, unsigned int queues,
			   struct hrtimer **popped)
{
	for (unsigned int i = 0; i < BATCH; i++) {
		popped[i] = OWN(first)(queue[i % queues], 0);
		OWN(del)(queue[i % queues], popped[i]);
		serialize();
	}
}

static unsigned int OWN(serve)(void *queue)
{
	struct hrtimer *timer;
	unsigned int served = 0;

	while ((timer = OWN(highest)(queue, INT64_MAX - 1, 0))) {
		OWN(del)(queue, timer);
		serialize();
		served++;
	}
	return served;
}

#define CONTENDER_FUNCTIONS			\
	.init		= OWN(init),		\
	.add		= OWN(add),		\
	.del		= OWN(del),		\
	.first		= OWN(first),		\
	.highest	= OWN(highest),		\
	.dequeue_batch	= OWN(dequeue_batch),	\
	.enqueue_batch	= OWN(enqueue_batch),	\
	.query_batch	= OWN(query_batch),	\
	.pop_batch	= OWN(pop_batch),	\
	.serve		= OWN(serve)
