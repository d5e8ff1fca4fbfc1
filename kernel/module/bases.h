/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TIMERSHIELD_BASES_H
#define TIMERSHIELD_BASES_H

#include "compat.h"
#include "levels.h"

/* Those whose timers expire in the interrupt, in the kernel's order */
#define SHIELD_CLOCKS	(HRTIMER_MAX_CLOCK_BASES / 2)

/* The timers of one level */
struct shield_level {
	struct hrtimer_clock_base queue[SHIELD_CLOCKS];
	u8 level;
};

/*
 * The queues of one CPU's owned timers. To the kernel's own code they are those of one more
 * CPU, so that it cancels, reads and forwards their timers unchanged.
 */
struct shield_bases {
	/* its lock protects all that is here; its own queues are not used */
	struct hrtimer_cpu_base base;
	struct shield_level ordinary;
	struct shield_level *realtime;	/* the levels above; NULL before the first mode 2 */
};

static inline struct shield_level *level_at(struct shield_bases *bases, u8 level)
{
	return level == TIMERSHIELD_ORDINARY ? &bases->ordinary :
	       &bases->realtime[level - TIMERSHIELD_REALTIME];
}

/*
 * Whoever changes a structure above changes the number: memory of another layout stays until the
 * next boot, and the shield must not use it. Then the kernel says that this symbol is unknown.
 */
#define timershield_bases	timershield_bases_3

DECLARE_PER_CPU(struct shield_bases *, timershield_bases);
extern struct hrtimer_cpu_base __percpu *timershield_stock;
int timershield_add_levels(void);

#endif
