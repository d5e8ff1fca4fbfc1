// SPDX-License-Identifier: GPL-2.0-or-later
/* The vectors, and what runs before main(). */
#include "board.h"

#define CPACR (*(volatile uint32_t *)0xe000ed88)
#define CPACR_FPU (0xfu << 20)

extern char stack_top[];

int main(void);
void on_reset(void);
void on_svc(void);
void on_pendsv(void);
void on_tick(void);

void on_reset(void)
{
	/* the port saves its registers */
	CPACR |= CPACR_FPU;
	main();
}

static void on_fault(void)
{
	board_print("fault\n");
	board_exit(false);
}

const void * const vectors[16] __attribute__((section(".vectors"), used)) = {
	stack_top, on_reset, on_fault, on_fault, on_fault, on_fault, on_fault,
	[11] = on_svc, [14] = on_pendsv, [15] = on_tick,
};
