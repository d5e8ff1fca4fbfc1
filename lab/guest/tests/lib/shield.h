/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel shows of the shield: switch, counters, levels of pending timers. */
#ifndef TESTS_SHIELD_H
#define TESTS_SHIELD_H

#include "tap.h"

#define SHIELD_SWITCH "/proc/sys/kernel/timershield"
#define SHIELD_STATE "/proc/timershield"

/* Levels as the kernel's documentation defines them. */
enum {
	LEVEL_NONE = 0,			/* an idle CPU's threshold */
	LEVEL_IDLE = 1,			/* SCHED_IDLE */
	LEVEL_FAIR = 2,			/* SCHED_OTHER, SCHED_BATCH */
	LEVEL_FIFO = 2,			/* + priority 1..99 */
	LEVEL_DEADLINE = 102,
	LEVEL_CRITICAL = 255,
};

/* Whether this kernel has the shield at all. */
bool shield_present(void);

/*
 * Switches the shield. On a kernel without it "off" is what there is, and "on"
 * changes nothing, so that a test of masking fails by what it observes.
 */
void shield_set(bool on);

/* 0 or 1, or -errno. */
int shield_get(void);

/* Writes TEXT to the switch; 0 or -errno. */
int shield_write(const char *text);

/* One line of /proc/timershield. */
struct shield_cpu {
	unsigned int cpu;
	unsigned int threshold;
	u64 masked;
	u64 released;
	u64 avoided;
	u64 longest_hold;		/* ns */
};

/* Reads the line of CPU; 0, -ENOENT without such a line, or -errno. */
int shield_read(unsigned int cpu, struct shield_cpu *state);

/*
 * Level of the pending timer that runs FUNCTION (NULL: any) and expires at
 * EXPIRY (0: any) on its own clock; -ENOENT if there is none, -ENODATA if the kernel
 * shows no level.
 */
int timer_level(const char *function, u64 expiry);

#endif
