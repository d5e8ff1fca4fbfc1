/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A loop that has a job to do in each period, and prove's job: a fixed amount of work. After every
 * small round of it the job reads the CPU's counter; a round that took longer than the threshold
 * was interrupted. Times in ns, on CLOCK_MONOTONIC.
 */
#ifndef LOOP_CONTROL_LOOP_H
#define LOOP_CONTROL_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#define LOOP_PERIOD 1000000ull
#define LOOP_WORK 300000ull
#define LOOP_PRIORITY 99
#define LOOP_WARM_UP 20			/* jobs that do not count */

struct job {
	int64_t due;			/* its release */
	int64_t latency;		/* from there to its first instruction */
	int64_t response;		/* from there to its end */
	int64_t products;		/* matrix multiplications, if those are its work */
	uint64_t taken;			/* by interruptions of the work */
	uint32_t interruptions;
};

struct periodic {
	int64_t due;			/* the next job's release */
	int64_t period;
	bool catches_up;		/* a job whose release is over is late, not missed */
	int64_t missed;
	void *self;			/* what the functions are given */
	void (*wait)(void *self, int64_t due);	/* NULL: sleeps */
	bool (*work)(void *self, struct job *job);	/* returns whether the loop is to go on */
};

/* Does COUNT jobs, and leaves their samples in JOBS, unless that is NULL. */
void periodic_run(struct periodic *periodic, struct job *jobs, uint64_t count);

struct control_loop {
	unsigned int cpu;
	uint64_t rounds;		/* of work in a job */
	double ticks_per_ns;		/* of the CPU's counter */
	double round;			/* the shortest one */
	double quiet;			/* 99.9 % of an idle loop's took no longer */
	double threshold;		/* one that takes longer was interrupted */
};

/*
 * Makes the calling thread FIFO 99 for good, and moves it to the loop's CPU, or back. Tasks that it
 * forks are ordinary ones. 0 or -errno.
 */
int control_loop_enter(const struct control_loop *loop);
void control_loop_leave(void);

/* Fills in all but the CPU, on which it runs with nothing else to do there. 0 or -errno. */
int control_loop_calibrate(struct control_loop *loop);

/* One job's work. LOOP: the control_loop; returns false once loads_interrupted is set. */
bool control_loop_work(void *loop, struct job *job);

#endif
