// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many instructions each queue executes, counted by callgrind. Run it
 * through instructions.py; each dump's description says what was counted:
 * operation, timers, levels, queue, number of operations.
 */

#include <stdio.h>
#include <stdlib.h>

#include <linux/kernel.h>
#include <valgrind/callgrind.h>

#include "workload.h"

#define ROUNDS	64

static const unsigned int sizes[] = { 1, 50, 1000, 100000 };

/* Only this operation is counted. */
static enum operation counted;

void kernel_warned(const char *file, int line)
{
	fprintf(stderr, "instructions: warning of the queue at %s:%d\n", file, line);
	exit(EXIT_FAILURE);
}

static u64 toggle(enum operation operation)
{
	if (operation == counted)
		CALLGRIND_TOGGLE_COLLECT;
	return 0;
}

static const struct probe counter = {
	.start	= toggle,
	.stop	= toggle,
};

static void dump(enum operation operation, const struct load *load,
		 const struct contender *contender, unsigned int operations)
{
	char name[128];

	snprintf(name, sizeof(name), "%s %u %s %s %u", operation_name[operation],
		 load->timers, load->many_levels ? "many" : "one",
		 contender->name, operations);
	CALLGRIND_DUMP_STATS_AT(name);
}

static int count(const struct load *load, const struct contender *contender)
{
	struct round_ticks ticks;
	struct round round;
	struct arena arena;
	unsigned int served;
	u64 ignored;

	if (arena_fill(&arena, contender, load, 1))
		return -1;
	random_seed(2);
	for (counted = 0; counted < SERVE; counted++) {
		for (int i = 0; i < ROUNDS; i++) {
			random_round(load, &round);
			arena_round(&arena, load, &round, &counter, &ticks);
		}
		dump(counted, load, contender, ROUNDS * BATCH);
	}
	served = arena_serve(&arena, load, &counter, &ignored);
	dump(SERVE, load, contender, served);
	arena_free(&arena);
	return 0;
}

int main(void)
{
	if (!RUNNING_ON_VALGRIND) {
		fprintf(stderr, "instructions: counts only under callgrind; use instructions.py\n");
		return 2;
	}
	for (size_t i = 0; i < 2 * ARRAY_SIZE(sizes); i++) {
		const struct load load = { sizes[i / 2], i % 2 };

		for (size_t c = 0; c < nr_contenders; c++) {
			if (count(&load, contenders[c])) {
				fprintf(stderr, "instructions: out of memory\n");
				return EXIT_FAILURE;
			}
		}
	}
	return EXIT_SUCCESS;
}
