/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The measured loop: SCHED_FIFO 99, a job every millisecond that does a fixed amount of
 * work. After every small round of work it reads the CPU's counter; a round that took longer than
 * the threshold was interrupted. Times in ns, on CLOCK_MONOTONIC.
 */
#ifndef TIMERSHIELD_CONTROL_LOOP_H
#define TIMERSHIELD_CONTROL_LOOP_H

#include "lib/clock.h"


#define LOOP_PERIOD 1000000ull
#define LOOP_WORK 300000ull
#define LOOP_PRIORITY 99
#define LOOP_WARM_UP 20			/* jobs that do not count */

struct job {
	uint64_t response;		/* from its release to its end */
	uint64_t taken;			/* of it, by interruptions of the work */
	uint32_t interruptions;
};

struct control_loop {
	unsigned int cpu;
	uint64_t rounds;		/* of work in a job */
	double ticks_per_ns;		/* of the CPU's counter */
	uint64_t round;			/* the shortest one */
	uint64_t quiet;			/* 99.9 % of an idle loop's took no longer */
	uint64_t threshold;		/* one that takes longer was interrupted */
};

/* Ends sooner when loads_interrupted is set, as everything here that waits. */
void loop_sleep_until(uint64_t time);

/*
 * Moves the calling thread to the loop's CPU, and makes it FIFO 99, or ordinary again.
 * 0 or -errno.
 */
int control_loop_enter(const struct control_loop *loop);
void control_loop_leave(void);

/* Fills in all but the CPU; after control_loop_enter(), with nothing else to do there. */
void control_loop_calibrate(struct control_loop *loop);

/* One job's work; adds to JOB's interruptions and taken. */
void control_loop_work(const struct control_loop *loop, struct job *job);

/*
 * After control_loop_enter(), in step with the loads: does a few jobs that do not count and then
 * COUNT that do. Returns how many releases it missed because a job took longer than a period, or
 * -EINTR.
 */
int control_loop_run(const struct control_loop *loop, struct job *jobs, unsigned int count);

#endif
