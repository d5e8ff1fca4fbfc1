/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One run of prove: the loop next to each load, in turns. */
#ifndef TIMERSHIELD_TRIAL_H
#define TIMERSHIELD_TRIAL_H

#include "loop/control_loop.h"
#include "undo.h"
#include "verdict.h"

#define TRIALS 8			/* at most */

struct prove {
	struct control_loop loop;
	unsigned int seconds;		/* of all turns together */
	bool shield;			/* there is one */
	bool watches;			/* what interrupts: without a shield */
	int mode;			/* of it, in turns with the shield on */
	bool levels;			/* next to FIFO tasks its mode is that */
	bool progress;			/* is written to what is no terminal, too */
	const char *kind;		/* of the shield: timers_kind() */
	struct journal journal;
	char *group;			/* the loads' cgroup, or NULL */
	struct trial trials[TRIALS];
	size_t count;			/* of trials that are complete */
	struct judgement judgements[TRIALS];
	uint64_t steal_ms;		/* that the hypervisor took from its CPU meanwhile */
};

/*
 * Calibrates, measures and judges. Returns 0; -EINTR if a signal ended it, and what is
 * complete is there all the same; or -errno after a message. The caller calls
 * trials_free() in any case.
 */
int trials_run(struct prove *prove);
void trials_free(struct prove *prove);

#endif
