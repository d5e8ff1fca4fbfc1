/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The machine's CPUs. */
#ifndef TIMERSHIELD_MACHINE_H
#define TIMERSHIELD_MACHINE_H

#include "cpus.h"

struct machine {
	struct cpus possible, online;
};

/* Returns 0, or -errno after a message. */
int machine_read(struct machine *machine);

/*
 * Whether these CPUs exist (-ERANGE), are online (-ENODEV) and leave an online one for
 * the rest of the system (-EBUSY); after a message if not.
 */
int machine_check(const struct machine *machine, const struct cpus *cpus);

#endif
