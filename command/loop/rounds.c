// SPDX-License-Identifier: GPL-2.0-or-later
#include "rounds.h"
#include "clock.h"

static volatile uint64_t sink;

__attribute__((noinline))
void work_rounds(uint64_t rounds, uint64_t gap, uint64_t round, struct interruptions *seen)
{
	uint64_t before = counter(), x = before;

	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t now;

		x = round_of_work(x);
		now = counter();
		if (now - before > gap) {
			seen->count++;
			seen->ticks += now - before - round;
		}
		before = now;
	}
	sink = x;
}

void time_each_round(uint32_t *times, unsigned int count)
{
	uint64_t before = counter(), x = before;

	for (unsigned int i = 0; i < count; i++) {
		uint64_t now;

		x = round_of_work(x);
		now = counter();
		times[i] = now - before < UINT32_MAX ? (uint32_t)(now - before) : UINT32_MAX;
		before = now;
	}
	sink = x;
}

double measure_ticks_per_ns(void)
{
	int64_t start = clock_ns();
	uint64_t ticks = counter();
	int64_t end;

	do {
		end = clock_ns();
	} while (end - start < 10 * NSEC_PER_MSEC);
	return (double)(counter() - ticks) / (double)(end - start);
}
