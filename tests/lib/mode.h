/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shield's switch, as a test finds it. */
#ifndef TESTS_MODE_H
#define TESTS_MODE_H

#include <stdbool.h>

#define SHIELD_SWITCH "/proc/sys/kernel/timershield"

/*
 * Whether the guest boots with timershield=2. The command line of a kernel without a shield of its
 * own tells what the module is to do.
 */
bool mode_is_levels(void);

/* What the guest is to test: on, with levels if it boots so. 0, also without a shield, or -errno. */
int mode_switch_on(void);

#endif
