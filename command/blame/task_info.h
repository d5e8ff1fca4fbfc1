/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /proc knows about a thread; kept when the thread has ended. */
#ifndef TIMERSHIELD_BLAME_TASK_INFO_H
#define TIMERSHIELD_BLAME_TASK_INFO_H

#include "blame_types.h"
#include "lib/task.h"

struct task_info {
	struct task_info *next;
	unsigned int looked;		/* when it was read last, as task_info_look_again() counts */
	unsigned int named;		/* when a row named it, as above */
	u64 named_by;			/* that row's time */
	u32 tid, process;
	unsigned long long start;	/* of another thread with its number */
	int policy;			/* -1: not known */
	int priority;			/* as struct who has it; while it lives */
	struct cpus cpus;		/* where it may run */
	bool alive, kernel_thread;
	bool locked, may_not_lock;	/* some of its memory; all of it */
	char *session;			/* in which the kernel groups it; NULL: not known */
	char comm[TASK_NAME_MAX + 1], process_comm[TASK_NAME_MAX + 1];
	char *unit;			/* of its cgroup; NULL if not known, "" for the root */
	char *group;			/* its path; NULL: not known */
	char *quota;			/* the file of the group that limits it; NULL: none */
	char *memory;			/* the same of memory, if it was reached meanwhile */
};

/* What was read since this; it still lived then, or not. Never NULL. */
const struct task_info *task_info_of(const struct who *who);
void task_info_look_again(void);

/* Its name in a row of TIME ns, for when /proc has none: in its first rows it may have its parent's. */
void task_info_name(const struct who *who, u64 time);

/* Looks at it while it lives, if that was not done yet, and at the quotas of its groups. */
void task_info_note(const struct who *who);

/* Whether it is this process. */
bool task_info_is_own(const struct task_info *task);

#endif
