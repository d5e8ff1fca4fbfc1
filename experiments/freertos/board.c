// SPDX-License-Identifier: GPL-2.0-or-later
/* The board, an emulated mps2-an386: its serial line, and the way out. */
#include "board.h"

#define UART_DATA (*(volatile uint32_t *)0x40004000)
#define UART_CONTROL (*(volatile uint32_t *)0x40004008)
#define TRANSMIT 1

#define SYS_EXIT 0x18
#define STOPPED_APPLICATION_EXIT 0x20026
#define STOPPED_INTERNAL_ERROR 0x20024

void board_print(const char *text)
{
	UART_CONTROL = TRANSMIT;
	while (*text)
		UART_DATA = (uint32_t)*text++;
}

void board_exit(bool success)
{
	register uint32_t operation __asm__("r0") = SYS_EXIT;
	register uint32_t reason __asm__("r1") =
		success ? STOPPED_APPLICATION_EXIT : STOPPED_INTERNAL_ERROR;

	__asm__ volatile("bkpt 0xab" : : "r"(operation), "r"(reason) : "memory");
	for (;;)
		;
}
