/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The switch of the shield. */
#ifndef TESTS_SHIELD_H
#define TESTS_SHIELD_H

#include "mode.h"
#include "tap.h"
#include "task.h"

#define SHIELD_MODULE "/lab/modules/timershield.ko"

/* The lab's kernels have HZ=250. */
#define TICK (4 * MSEC)
/* The tick expires what has been held for a tick: at worst it does so in the tick after. */
#define HOLD (2 * TICK)

/*
 * How late a task may be that a release wakes, or an expiry (R2). One that was forgotten comes with
 * the next tick, 4 ms later.
 */
#define PROMPT (50 * USEC * slowness())

/* Whether this kernel has the shield at all. */
bool shield_present(void);

/* Whether it masks by level, and not only the timers of ordinary tasks. Also without a shield. */
bool shield_has_levels(void);

/*
 * The policy of a task whose timers a real-time task of higher priority masks: where the shield
 * knows classes only, an ordinary one.
 */
#define LOW(priority) (shield_has_levels() ? FIFO(priority) : OTHER)

/* Skips the test where the shield does not order real-time tasks. */
void shield_needs_levels(void);

/* Whether it is kernel/module's; also when that is not loaded at the moment. */
bool shield_is_module(void);

/* Loads or unloads that, unless it is already. */
void shield_load(bool loaded);

/*
 * Switches the shield; on is what the program found, 2 or else 1. On a kernel
 * without it "off" is what there is, and "on" changes nothing, so that a test of masking fails by what
 * it observes.
 */
void shield_set(bool on);

/* What MEASURE returns with the shield off, and then on. */
struct off_on {
	u64 off, on;
};

struct off_on off_and_on(u64 (*measure)(void));

/* LATE, which returns ns, at most ALLOWED more with the shield on. */
void late_at_most(u64 (*late)(void), u64 allowed);

/* Writes 0, 1 or 2. */
void shield_set_mode(int mode);

/* 2, or 1 where the shield knows classes only. Writes the switch, the first time, and puts it back. */
int shield_highest_mode(void);

/* 0, 1 or 2, or -errno. */
int shield_get(void);

/* Writes TEXT to the switch; 0 or -errno. */
int shield_write(const char *text);

#endif
