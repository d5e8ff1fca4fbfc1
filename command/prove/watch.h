/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What interrupted the jobs of a turn, counted by blame's engine: without a shield this tells
 * what one would spare, where a gap between two readings of the clock does not say whose it is.
 */
#ifndef TIMERSHIELD_WATCH_H
#define TIMERSHIELD_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/* Events, and the time that those timers took, ns. */
struct watched {
	unsigned int jobs;		/* while it watched */
	uint64_t timers;		/* of tasks that the loop outranks */
	uint64_t ticks, others;		/* other interrupts and softirqs */
	uint64_t taken;			/* by these timers */
};

/* False, after a note, if BPF cannot be had. */
bool watch_start(void);
void watch_stop(void);

/* Counts from now on what interrupts the calling thread. */
bool watch_turn(void);

/* What there was since then, in so many jobs. False if it cannot be read. */
bool watch_read(struct watched *watched, unsigned int jobs);

#endif
