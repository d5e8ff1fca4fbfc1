/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shield of CPUs, whichever way it is made. */
#ifndef TIMERSHIELD_SHIELD_H
#define TIMERSHIELD_SHIELD_H

#include "journal.h"
#include "machine.h"

struct shield {
	enum backend_id backend;
	struct machine machine;
	struct journal journal;
	char *mount;			/* of cgroup v2, with that backend */
	struct cpus procs, irqs;	/* shielded from tasks, from interrupts */
	bool touched;			/* something was changed */
	bool damaged;			/* the journal is; it has what could be read */
};

/*
 * Finds out how things are. WANTED is the backend that the user asked for, or
 * BACKEND_NONE. Returns 0; -EOPNOTSUPP if a shield cannot be had; -EBUSY if there is
 * one of the other backend; -errno; after a message if LOUD. Without a way to have a
 * shield, and not LOUD, backend is BACKEND_NONE. To be closed in any case.
 */
int shield_open(struct shield *shield, enum backend_id wanted, bool loud);
void shield_close(struct shield *shield);

/* Says so; returns -EBADMSG. */
int shield_refuse_damaged(void);

/*
 * Shields these CPUs and no others. Needs the lock. If it cannot be done, what was
 * before is brought back. Signals that would end the process wait until it is done.
 * 0, or -errno after a message.
 */
int shield_set(struct shield *shield, const struct cpus *procs, const struct cpus *irqs);

#endif
