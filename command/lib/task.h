/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tasks (threads) of the system, from /proc. */
#ifndef TIMERSHIELD_TASK_H
#define TIMERSHIELD_TASK_H

#include "cpus.h"

#include <sys/types.h>

#define TASK_KERNEL_THREAD 0x00200000u	/* PF_KTHREAD */
#define TASK_BOUND 0x04000000u		/* PF_NO_SETAFFINITY */

#define TASK_NAME_MAX 64

struct task {
	pid_t pid, tid;
	char state;			/* 'R', 'S', ... */
	unsigned int cpu;		/* where it ran last */
	unsigned int flags;
	int policy, priority;		/* priority as the kernel counts: 0 to 99 are real time */
	int rt_priority;		/* its own, 1 to 99, or 0; the other one may be lent */
	unsigned long long start;	/* ticks since boot */
	char name[TASK_NAME_MAX + 1];	/* printable */
	struct cpus cpus;		/* where it may run */
};

/*
 * Returns 0; -ESRCH if it has gone; or -errno. PID may be TID: /proc/TID is there for every
 * thread, though it is not listed. The second one does not read where it may run.
 */
int task_read(struct task *task, pid_t pid, pid_t tid);
int task_read_stat(struct task *task, pid_t pid, pid_t tid);

struct tasks {
	struct task *items;
	size_t count;
};

/*
 * Every task; those that come or go meanwhile may be left out. Starts with { 0 }, and is freed at
 * the end of its block. 0, or -errno after a message.
 */
int tasks_read(struct tasks *tasks);
void tasks_free(struct tasks *tasks);

#define autotasks __attribute__((cleanup(tasks_free)))

/* A real-time task of a process that may run on several CPUs; NULL: there is none. */
const struct task *tasks_unpinned(const struct tasks *tasks);

/* The same for the threads of one process, without a message; -ESRCH if there is none. */
int tasks_read_threads(struct tasks *tasks, pid_t pid);

#define tasks_for_each(one, tasks)					\
	for (const struct task *one = (tasks)->items;			\
	     (size_t)((one) - (tasks)->items) < (tasks)->count; (one)++)

/* What follows KEY in /proc/PID/FILE, as a number; -1 if it is not there, or no number. */
long long task_number(pid_t pid, const char *file, const char *key);

/* Whether RLIMIT_MEMLOCK or CAP_IPC_LOCK lets a process lock all that it has; true if not known. */
bool task_may_lock_all(pid_t pid);

/* A policy by its name, in any case of letters, or -EINVAL. */
int policy_parse(const char *name);

/* "FIFO 80", "OTHER"; the caller frees it. */
char *policy_text(int policy, int rt_priority);

/* sched_setaffinity() with any number of CPUs. 0 or -errno. */
int task_set_affinity(pid_t tid, const struct cpus *cpus);

/* The last CPU on which the caller may run: the first ones get most interrupts. */
unsigned int task_last_cpu(void);

#endif
