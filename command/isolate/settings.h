/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that hold CPUs: the affinity of interrupts, the steering of packets (rps_cpus),
 * and the affinity of unbound kernel work.
 *
 * Planning notes in the journal what each is now and what it is to be; applying
 * writes that. In between the journal is saved. A value that somebody else wrote since
 * is taken for the original one, and comes back when the isolation ends.
 */
#ifndef TIMERSHIELD_SETTINGS_H
#define TIMERSHIELD_SETTINGS_H

#include "isolation.h"
#include <stdbool.h>

/* Where packets are steered to; a pattern. */
#define STEERING_FILES "/sys/class/net/*/queues/rx-*/rps_cpus"

/*
 * With the empty set everything gets its original value. Steering counts as interrupts.
 * xps_cpus stays: it says which queue a CPU sends by, and no CPU works for another because of
 * it. 0, or -errno after a message.
 */
int settings_plan_irqs(struct journal *journal, const struct machine *machine,
		       const struct cpus *isolated);

/*
 * OTHERS: somebody else has an isolated partition. A new mask of unbound work would have that one's
 * CPUs until the next partition changes, so it stays: the kernel itself takes isolated CPUs out.
 */
int settings_plan_workqueue(struct journal *journal, const struct machine *machine,
			    const struct cpus *isolated, bool others);

/*
 * An interrupt that cannot be moved is no error, and stays in the journal as it is; one that cannot
 * be given back its original affinity is, after a message. 0 or -errno.
 */
int settings_apply_irqs(struct isolation *isolation);
int settings_apply_workqueue(struct isolation *isolation);

/*
 * Before a partition changes: unbound work leaves the CPUs that are to be isolated, and has not
 * come back to those that were. The kernel then has nothing to move for the partition's sake, which
 * it does badly for a process that is killed: Linux 6.12 warns in update_parent_effective_cpumask()
 * that it could not make a kernel thread, and shows a wrong cpumask_isolated until the next
 * partition. An error is for the one who applies the mask afterwards to tell: 0. Next to isolated
 * partitions of others, a mask that is to be restored is, so that the kernel takes their CPUs out of it.
 */
int settings_narrow_workqueue(struct isolation *isolation);

/* Reads the text of one of these files: a list, or a mask where it is one. */
int setting_parse(const char *path, const char *text, struct cpus *cpus);

/* How many interrupts may go to some of these CPUs, or -errno. */
int settings_count_irqs(const struct cpus *cpus);

/* Those of these CPUs that the default mask of interrupts names. */
struct cpus settings_exposed(const struct cpus *isolated);

/* Interrupts by their names in /proc/interrupts. */
struct irqs {
	unsigned int *numbers;
	size_t count;
};

/*
 * Adds the interrupt of this number, or those that are called NAME, NAME-1, NAME:rx and the like.
 * 0, or -errno after a message.
 */
int irqs_find(const char *name, struct irqs *irqs);

#endif
