/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stdint.h>

#define BOARD_HZ 25000000u

/* Cycles of 40 ns since the start; wraps. */
static inline uint32_t board_cycles(void)
{
	return *(volatile uint32_t *)0x40028018;
}

void board_print(const char *text);
_Noreturn void board_exit(bool success);

#endif
