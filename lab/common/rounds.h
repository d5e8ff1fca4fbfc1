/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work in small rounds, after each of which a job looks at the CPU's counter: a gap that is
 * longer than a round can be is an interruption.
 */
#ifndef LAB_ROUNDS_H
#define LAB_ROUNDS_H

#include <stdint.h>

/* round_of_work() - some 50 instructions that depend on each other */
static inline uint64_t round_of_work(uint64_t x)
{
	for (int i = 0; i < 16; i++)
		x = x * 6364136223846793005ull + 1442695040888963407ull;
	return x;
}

/* shortest_round() - ticks of the CPU's counter that an undisturbed round takes */
uint64_t shortest_round(int rounds);

/* measure_ticks_per_ns() - speed of the CPU's counter; takes 10 ms */
double measure_ticks_per_ns(void);

#endif
