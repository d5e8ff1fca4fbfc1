/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /proc/interrupts counts. */
#ifndef LAB_INTERRUPTS_H
#define LAB_INTERRUPTS_H

#include <stdint.h>

/* Timer interrupts of all CPUs since the boot; 0 if there is no such file */
uint64_t timer_interrupts(void);

#endif
