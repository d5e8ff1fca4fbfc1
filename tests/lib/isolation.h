/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUs isolated by the timershield command: affinities as bit masks, and tasks that tell where
 * they run.
 */
#ifndef TESTS_ISOLATION_H
#define TESTS_ISOLATION_H

#include "command.h"
#include "snapshot.h"

#include <sys/types.h>

/* CPU N is bit N; these tests want three. */
typedef u64 cpus_t;

#define CPU(n) ((cpus_t)1 << (n))
#define ALL_CPUS (CPU(0) | CPU(1) | CPU(2))

/* sched_setaffinity() and sched_getaffinity() of a task, 0: the caller. */
int try_affinity(pid_t pid, cpus_t cpus);
void set_affinity(pid_t pid, cpus_t cpus);
cpus_t affinity(pid_t pid);

/* The test fails unless the task has exactly this mask. */
void expect_affinity(pid_t pid, cpus_t cpus, const char *when);

/* Prints the caller's, its policy and its slack: as what "timershield run" starts. Returns 0. */
int tell_policy(void);

/* A process or thread that waits for its end; it inherits the caller's mask. */
pid_t start_waiter(void);

/* One that never gives way, and counts for each CPU how often it saw itself there. */
struct spinner {
	pid_t pid;
	u64 *seen;	/* 64 counters */
};

struct spinner start_spinner(void);
/*
 * The CPUs where it was seen within the next DURATION ns; or later, if that long its CPU
 * had no turn of the machine that the guest is on.
 */
cpus_t spinner_watch(const struct spinner *spinner, u64 duration);

/*
 * Skips the test if the machine has not three CPUs; ends any isolation; this process may
 * then run on all CPUs.
 */
void prepare_cpus(void);

/* The same, with tasks whose affinity is not that of all; takes a snapshot. */
void prepare_tasks(struct snapshot *before);

/* Runs "timershield isolate WORDS"; the test fails if that does. */
void isolate(const char *words);
void unisolate(const char *words);

#endif
