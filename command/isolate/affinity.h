/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Affinities of tasks while CPUs are isolated.
 *
 * Linux before 6.2 forgets a task's own affinity when its cpuset changes, and gives it all CPUs. So
 * what differs from "all" is kept in the journal, and given back, without the isolated CPUs while
 * there are any. Later kernels remember what a user asked for, but not what kernel threads had. The
 * threads of interrupts are where these are sent, and go back there.
 *
 * Isolation by affinity has no partition: each task is told which CPUs it may use, as in
 * Brosky's article. What asks for an isolated CPU and others later gets it.
 */
#ifndef TIMERSHIELD_AFFINITY_H
#define TIMERSHIELD_AFFINITY_H

#include "isolation.h"

/*
 * Notes in the journal what each task asked for. Nobody asked to be kept off the CPUs TAKEN by
 * partitions of others. 0, or -errno after a message.
 */
int affinity_plan(struct journal *journal, const struct machine *machine,
		  const struct cpus *taken);

/*
 * Once planned, before anything is changed: -ENODEV after a message if a task asked for CPUs alone that
 * leave isolation and are offline. It would keep others for good: the kernel does not look again.
 */
int affinity_refuse_offline(const struct journal *journal, const struct machine *machine,
			    const struct cpus *leaving);

/* Gives it to each without the CPUs isolated from tasks. Always 0. */
int affinity_apply(struct isolation *isolation);

#endif
