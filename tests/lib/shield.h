/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel shows of the shield: switch, counters, levels of pending timers. */
#ifndef TESTS_SHIELD_H
#define TESTS_SHIELD_H

#include "mode.h"
#include "tap.h"

#define SHIELD_STATE "/proc/timershield"
#define SHIELD_MODULE "/lab/modules/timershield.ko"

/* Levels as the kernel's documentation defines them. */
enum {
	LEVEL_FAIR = 1,			/* idle, and all that is neither of the others */
	LEVEL_FIFO = 1,			/* + priority 1..99 */
	LEVEL_DEADLINE = 101,
};

/* The lab's kernels have HZ=250. */
#define TICK (4 * MSEC)
/* The tick expires what has been held for a tick: at worst it does so in the tick after. */
#define HOLD (2 * TICK)
/* Callbacks of held timers at most in one go, and timers at most that a tick expires */
#define GO 8
/* Callbacks of others at most in one go */
#define GO_FRESH 32

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
 * Switches the shield; on is what the guest is to test, 2 if it boots with timershield=2. On a kernel
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

/* 0, 1 or 2, or -errno. */
int shield_get(void);

/* Writes TEXT to the switch; 0 or -errno. */
int shield_write(const char *text);

/* One line of /proc/timershield, which the module has. */
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
 * shows no level. On the module the test is skipped. Where the shield knows classes only,
 * the clock base tells the class: LEVEL_FAIR or the lowest of real-time tasks.
 */
int timer_level(const char *function, u64 expiry);

/* What timer_level() tells of a timer of that level. */
unsigned int shown_level(unsigned int level);

#endif
