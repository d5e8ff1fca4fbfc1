/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sched.h - run two threads of control step by step, in all orders
 *
 * The order of a run is a sequence of decisions, one at each step: go on or let the other one
 * run. Runs are repeated with the next sequence until there is none. With a bound on the number
 * of preemptions all orders that have no more than that are tried: most errors need two or
 * three.
 */
#ifndef SCHED_H
#define SCHED_H

#include <stdbool.h>
#include <stdint.h>

enum { SUBMITTER, WORKER };

struct scenario {
	void (*setup)(void);
	void (*thread[2])(void);
	void (*switched)(int to);	/* called when another one goes on */
	void (*check)(void);		/* called at the end of each run */
	unsigned int preemptions;	/* at most; UINT32_MAX: all orders */
};

/* Returns the number of orders tried. */
uint64_t sched_explore(const struct scenario *scenario, uint64_t limit);

/* The running thread can't go on before the other one has; false if that has ended. */
bool sched_block(void);

/* decisions of the run, to be printed when a check fails */
void sched_print(void);

#endif
