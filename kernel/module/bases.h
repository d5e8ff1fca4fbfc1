/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TIMERSHIELD_BASES_H
#define TIMERSHIELD_BASES_H

#include "compat.h"
#include "timershield_types.h"

/* One for each level, those of a level together, in each the kernel's order of clocks */
#define SHIELD_QUEUES	((TIMERSHIELD_DEADLINE + 1) * HRTIMER_MAX_CLOCK_BASES)

/*
 * The queues of one CPU's owned timers. To the kernel's own code they are those of one more
 * CPU, so that it cancels, reads and forwards their timers unchanged.
 */
struct shield_bases {
	/* its lock protects all that is here; its own queues are not used */
	struct hrtimer_cpu_base base;
	struct hrtimer_clock_base queue[SHIELD_QUEUES];
};

DECLARE_PER_CPU(struct shield_bases *, timershield_bases);
extern struct hrtimer_cpu_base __percpu *timershield_stock;

#endif
