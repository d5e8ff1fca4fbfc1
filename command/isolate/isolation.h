/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Isolation of CPUs: by a cpuset partition, and by the affinities of interrupts and tasks. */
#ifndef TIMERSHIELD_ISOLATION_H
#define TIMERSHIELD_ISOLATION_H

#include "journal.h"
#include "lib/machine.h"
#include "partition.h"
#include "rivals.h"

#include <signal.h>

struct isolation {
	struct machine machine;
	struct journal journal;
	char *mount;			/* of cgroup v2; NULL: only interrupts can be kept away, */
	const char *why;		/* for this reason */
	struct partition partition;
	struct rivals rivals;
	struct cpus procs, irqs;	/* asked for: isolated from tasks, from interrupts */
	struct cpus isolated;		/* in fact isolated from tasks, by whatever means */
	struct cpus booted;		/* those of them that the kernel's command line names */
	bool settled;			/* no change was under way when this one began */
	bool touched;			/* something was changed */
	bool refused;			/* by the kernel: the partition */
	bool damaged;			/* the journal is */
	bool lost;			/* there is a partition of ours, but no journal */
};

/* Finds out how things are; 0 or -errno, after a message if LOUD. To be closed in any case. */
int isolation_open(struct isolation *isolation, bool loud);
void isolation_close(struct isolation *isolation);

/* Prints what to do about a damaged or lost journal; returns -EBADMSG. */
extern const char isolation_mend[];
int isolation_refuse_damaged(const struct isolation *isolation);

/* Before any change: -EBUSY after a message if cgroups of others have some of these CPUs. */
int isolation_refuse_taken(const struct isolation *isolation, const struct cpus *procs);

/* Signals that would end or stop the process wait until BEFORE is the mask again. */
void isolation_hold_signals(sigset_t *before);

/*
 * Isolates these CPUs and no others. Needs the lock. If it cannot be done, what was
 * before is brought back. Signals that would end the process wait until it is done.
 * 0, or -errno after a message.
 */
int isolation_set(struct isolation *isolation, const struct cpus *procs, const struct cpus *irqs);

#endif
