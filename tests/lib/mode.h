/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shield's switch, as a test finds it. */
#ifndef TESTS_MODE_H
#define TESTS_MODE_H

#include <stdbool.h>

#define SHIELD_SWITCH "/proc/sys/kernel/timershield"

/* Whether the switch was 2 when the program began: then "on" is 2 for it. */
bool mode_is_levels(void);

/* On, as the guest is to test it. 0, also without a shield, or -errno. */
int mode_switch_on(void);

#endif
