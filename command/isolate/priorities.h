/* SPDX-License-Identifier: GPL-2.0-or-later */
/* FIFO priorities that the configuration gives to threads of interrupts and of the kernel. */
#ifndef TIMERSHIELD_PRIORITIES_H
#define TIMERSHIELD_PRIORITIES_H

#include "journal.h"
#include "lib/task.h"

#define PRIORITIES_MAX 64

struct priorities {
	struct priority {
		char pattern[TASK_NAME_MAX + 1];	/* as the shell has them */
		int priority;
		bool found;				/* there is such a thread */
	} items[PRIORITIES_MAX];
	unsigned int count;
};

/* "80 irq/x-eth0", with a pattern for the name. 0 or -EINVAL. */
int priorities_parse(struct priorities *priorities, const char *value);

/* Notes in the journal which threads get what, if that is to change, and what they had. */
int priorities_plan(struct journal *journal);

/*
 * A change of a cpuset waits for RCU. On PREEMPT_RT a CPU's rcuc thread has to run for that, so a
 * task above it that never sleeps would make the change hang. Notes these threads in the journal,
 * after undoing what a change that was killed has left; they outrank all until they are lowered.
 */
int priorities_plan_rcu(struct journal *journal);
void priorities_raise_rcu(const struct journal *journal);
void priorities_lower_rcu(const struct journal *journal);

/* Gives each what it gets, or has again what it had. 0, or -errno after a message. */
int priorities_apply(const struct journal *journal);

/* Prints what differs from that, and what names no thread. The number of both, or -errno. */
int priorities_verify(struct priorities *priorities);

#endif
