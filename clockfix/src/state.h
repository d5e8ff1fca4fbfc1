/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* state.h - what a timer consists of */
#ifndef CLOCKFIX_STATE_H
#define CLOCKFIX_STATE_H

#include <errno.h>
#include <pthread.h>

#include "list.h"
#include "wait.h"

struct clockfix {
	/* the worker and submitters */
	struct wake wake __attribute__((aligned(64)));
	_Atomic bool dead;		/* end once nothing is pending */
	_Atomic bool drop;		/* what is pending does not run */
	_Atomic uint32_t draining;	/* threads in clockfix_drain() */
	_Atomic uint32_t drained;	/* what they wait on */
	struct list list;
	struct slots slots;
	struct tree_nodes list_nodes, own_nodes;	/* submitters see to it that they suffice */

	/* the worker's own */
	struct tree own __attribute__((aligned(64)));	/* jobs that it keeps itself */
	_Atomic uint64_t worker_added, worker_ended;
	uint32_t reserve;		/* first of the slots for jobs submitted by jobs */
	uint32_t handed_last;		/* end of the queue of slots given back to submitters */
	uint32_t litter_left;		/* of what it took from @litter */
	clockfix_job running;
	struct waiter waiter;

	/* submitters', under @mutex; not in a cache line that the worker polls */
	pthread_mutex_t mutex __attribute__((aligned(64)));
	_Atomic uint64_t seq;		/* order of submission; jobs that submit count, too */
	_Atomic uint64_t added, cancelled;
	uint32_t handed_first;
	uint32_t periodic;		/* slots of periodic jobs */
	_Atomic uint32_t litter;	/* cancelled jobs that the worker keeps */

	struct clockfix_stats stats;
	_Atomic bool *alive;		/* page that reads as zero in a child after fork() */
	pthread_t thread;
	_Atomic uint32_t ready;		/* the worker's thread is set up */
	int setup;			/* with this result */
	struct clockfix_options options;
	struct clockfix_capabilities caps;
	int latency_fd;
	uintptr_t stack;		/* what of the worker's is locked, or 0 */
};

/* -ECHILD in a child after fork(), -EINVAL without a timer */
static inline int timer_check(const struct clockfix *timer)
{
	if (!timer)
		return -EINVAL;
	return atomic_load_explicit(timer->alive, memory_order_relaxed) ? 0 : -ECHILD;
}

#endif
