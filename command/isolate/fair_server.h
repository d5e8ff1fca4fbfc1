/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fair server of Linux 6.12 and later, which gives ordinary tasks a share of a CPU whose
 * real-time tasks never sleep. Where nothing but chosen tasks runs it is a timer without use.
 */
#ifndef TIMERSHIELD_FAIR_SERVER_H
#define TIMERSHIELD_FAIR_SERVER_H

#include "isolation.h"

#define FAIR_SERVER "/sys/kernel/debug/sched/fair_server"
#define FAIR_SERVER_RUNTIME FAIR_SERVER "/cpu%u/runtime"

/*
 * Linux 6.12 stops the server before it writes, even one that is not active, and warns in
 * task_non_contending(): that taints a kernel for a timer that is rare there.
 */
bool fair_server_can_stop(void);

/* Notes in the journal what it has on these CPUs. */
void fair_server_plan(struct journal *journal, const struct cpus *procs);

/* Stops it on the CPUs that are isolated from tasks. Always 0. */
int fair_server_stop(struct isolation *isolation);

/*
 * On other CPUs, or on all if the partition changes, it has again what it had. To be done before: the
 * kernel then waits for work on its CPUs, which a real-time task that never sleeps would keep from
 * running. Always 0.
 */
int fair_server_start(struct isolation *isolation);

#endif
