/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What makes the kernel rank timers anew, one after the other, for somebody who counts. */
#ifndef LAB_RANK_H
#define LAB_RANK_H

#include "clock.h"
#include "tasks.h"

#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define MAX_REPEATS 100000
#define MAX_COUNT 1000
#define AN_HOUR (3600 * NSEC_PER_SEC)
#define ABOVE_ALL 90	/* SCHED_FIFO priority of the task that changes others, or is kept busy */

struct options {
	const char *action;
	const char *who;
	const char *to;
	int count;
	int sleepers;
	int repeats;
	int warmup;
	int cpu;
};

/* Each does it options->repeats times; 0 or -errno, having said what failed. */
int policy(const struct options *options);
int inherit(const struct options *options);
int arm(const struct options *options);

/* Let the others get to where they wait. */
static inline void settle(void)
{
	sleep_until(clock_ns() + 200 * NSEC_PER_USEC);
}

/*
 * Marks, which the host sees: one part of what is counted begins, and ends. They are
 * system calls that do next to nothing, and that nothing else here makes.
 */
static inline void mark_rise(void)
{
	syscall(SYS_getppid);
}

static inline void mark_fall(void)
{
	syscall(SYS_getsid, 0);
}

static inline void mark_job(void)
{
	syscall(SYS_getegid);
}

static inline void mark_end(void)
{
	syscall(SYS_getpgid, 0);
}

#endif
