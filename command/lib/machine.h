/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The machine: its CPUs and its kernel. */
#ifndef TIMERSHIELD_MACHINE_H
#define TIMERSHIELD_MACHINE_H

#include "cpus.h"

#define CPU_DIRECTORY "/sys/devices/system/cpu"
#define FAIR_SERVER "/sys/kernel/debug/sched/fair_server"
#define CPU_SIBLINGS CPU_DIRECTORY "/cpu%u/topology/thread_siblings_list"

struct machine {
	struct cpus possible, online;
	struct cpus booted;		/* isolated by isolcpus= on the command line */
};

/* Whether Linux is MAJOR.MINOR or later; no if its version is not known. */
bool machine_linux_since(unsigned int major, unsigned int minor);

/*
 * Whether a fair server can be switched off. Linux 6.12 stops it before it writes, even one that is not
 * active, and warns in task_non_contending(): that taints a kernel for a timer that is rare there.
 */
bool fair_server_can_stop(void);

/* Whether it is a virtual machine, as far as its CPUs tell. */
bool machine_is_virtual(void);

/* CPUs that share a core with some of these, and are not of them, as far as that is known. */
struct cpus machine_siblings(const struct cpus *cpus);

/* Returns 0, or -errno after a message. */
int machine_read(struct machine *machine);

/* Whether these CPUs exist (-ERANGE) and are online (-ENODEV); after a message if not. */
int machine_check_online(const struct machine *machine, const struct cpus *cpus);

/* The same, and whether they leave an online CPU for the rest of the system (-EBUSY). */
int machine_check(const struct machine *machine, const struct cpus *cpus);

#endif
