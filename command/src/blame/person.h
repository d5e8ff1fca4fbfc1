/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /proc knows about a thread; kept when the thread has ended. */
#ifndef TIMERSHIELD_BLAME_PERSON_H
#define TIMERSHIELD_BLAME_PERSON_H

#include "../task.h"
#include "blame_types.h"

#include <stdbool.h>

struct person {
	struct person *next;
	u32 tid, process;
	unsigned long long start;	/* of another thread with its number */
	int policy;			/* -1: not known */
	int priority;			/* as struct who has it; while it lives */
	bool alive, kernel_thread;
	char comm[TASK_NAME_MAX + 1], process_comm[TASK_NAME_MAX + 1];
	char *unit;			/* of its cgroup; NULL if not known, "" for the root */
};

/* Reads it again if it still lives. Never NULL. */
const struct person *person_of(const struct who *who);

/* Looks at it while it lives, if that was not done yet. */
void person_note(const struct who *who);

#endif
