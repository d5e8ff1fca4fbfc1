/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work in small rounds, after each of which a job looks at the CPU's counter: a gap that is
 * longer than a round can be is an interruption. Where an instruction takes a fixed time this is
 * exact; on a real machine short pauses for other reasons (system management, refresh) count as well.
 */
#ifndef LOOP_ROUNDS_H
#define LOOP_ROUNDS_H

#include <stdint.h>

/* round_of_work_rounds() - some 50 instructions that depend on each other */
static inline uint64_t round_of_work(uint64_t x)
{
	for (int i = 0; i < 16; i++)
		x = x * 6364136223846793005ull + 1442695040888963407ull;
	return x;
}

/* Of a job: how often, and how long in ticks of the CPU's counter. */
struct interruptions {
	uint64_t count, ticks;
};

/* work_rounds() - so many rounds; a gap of more than GAP ticks is an interruption, but for ROUND of them */
void work_rounds(uint64_t rounds, uint64_t gap, uint64_t round, struct interruptions *seen);

/* time_each_round() - ticks that each of COUNT rounds takes */
void time_each_round(uint32_t *times, unsigned int count);

/* measure_ticks_per_ns() - speed of the CPU's counter; takes 10 ms */
double measure_ticks_per_ns(void);

#endif
