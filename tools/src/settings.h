/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that hold CPUs: the affinity of interrupts, and of unbound kernel work.
 *
 * Planning notes in the journal what each is now and what it is to be; applying
 * writes that. In between the journal is saved. A value that somebody else wrote since
 * is taken for the original one, and comes back when the shield goes.
 */
#ifndef TIMERSHIELD_SETTINGS_H
#define TIMERSHIELD_SETTINGS_H

#include "journal.h"
#include "machine.h"

/* With the empty set everything gets its original value. 0, or -errno after a message. */
int settings_plan_irqs(struct journal *journal, const struct machine *machine,
		       const struct cpus *shielded);
int settings_plan_workqueue(struct journal *journal, const struct machine *machine,
			    const struct cpus *shielded);

/*
 * An interrupt that cannot be moved is no error; one that cannot be given back its
 * original affinity is, after a message. 0 or -errno.
 */
int settings_apply_irqs(const struct journal *journal);
int settings_apply_workqueue(const struct journal *journal);

#endif
