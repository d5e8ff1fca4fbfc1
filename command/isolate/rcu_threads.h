/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A change of a cpuset waits for RCU. On PREEMPT_RT a CPU's rcuc thread has to run for that, so a
 * task above it that never sleeps would make the change hang: meanwhile these threads outrank all.
 */
#ifndef TIMERSHIELD_RCU_THREADS_H
#define TIMERSHIELD_RCU_THREADS_H

#include "journal.h"
#include "lib/task.h"

/* Notes them in the journal, after undoing what a change that was killed has left. 0 or -errno. */
int rcu_threads_plan(struct journal *journal);
void rcu_threads_raise(const struct journal *journal);
void rcu_threads_lower(const struct journal *journal);

#endif
