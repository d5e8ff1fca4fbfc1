/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * No event covers the way into an interrupt and out of it, nor the switch of tasks. What
 * they cost on this machine with this source is measured at the start, on ourselves.
 */
#ifndef TIMERSHIELD_BLAME_CALIBRATE_H
#define TIMERSHIELD_BLAME_CALIBRATE_H

#include "lib/cpus.h"
#include "source.h"

/* Sets the overheads in CONFIG; away from the CPUs AVOID if that is possible. */
void calibrate(const struct blame_source *source, struct blame_config *config,
	       const struct cpus *avoid);

/* How long it takes to read the clock, in ns. */
u64 shortest_read(void);

#endif
