// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random operations against the model. PROPERTY_SEED=N in the environment
 * starts elsewhere; a failure prints the seed of its sequence.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <linux/types.h>

#include "invariants.h"
#include "replay.h"
#include "runner.h"

static u64 random_state;

void kernel_warned(const char *file, int line)
{
	fail("the queue warned at %s:%d", file, line);
}

/* splitmix64 */
static u64 random_u64(void)
{
	u64 z = random_state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* For the message of a sequence that fails */
static u64 current_seed;

static void print_seed(int signal)
{
	fprintf(stderr, "reproduce with PROPERTY_SEED=%llu\n",
		(unsigned long long)current_seed);
}

/* @sequences sequences of @operations operations on sizes[@size] timers */
static void random_sequences(u8 size, unsigned int sequences,
			     unsigned int operations)
{
	const char *given = getenv("PROPERTY_SEED");
	size_t bytes = REPLAY_HEADER + operations * REPLAY_OPERATION;
	u8 *data = malloc(bytes);
	u64 seed = given ? strtoull(given, NULL, 10) : 1;

	expect(data);
	signal(SIGABRT, print_seed);
	for (unsigned int i = 0; i < sequences; i++) {
		current_seed = seed + i;
		random_state = current_seed;
		for (size_t b = 0; b < bytes; b++)
			data[b] = random_u64();
		data[0] = size;
		data[1] = i;
		data[2] = i / 4;
		replay(data, bytes);
	}
	free(data);
}

static void one_timer(void)
{
	random_sequences(0, 400, 200);
}

static void two_timers(void)
{
	random_sequences(1, 400, 200);
}

static void eight_timers(void)
{
	random_sequences(2, 1600, 300);
}

static void thirty_two_timers(void)
{
	random_sequences(3, 1600, 400);
}

static void sixty_four_timers(void)
{
	random_sequences(4, 800, 800);
}

static void five_hundred_timers(void)
{
	random_sequences(5, 64, 3000);
}

int main(void)
{
	static const struct test_case cases[] = {
		{ "random operations on 1 timer", one_timer },
		{ "random operations on 2 timers", two_timers },
		{ "random operations on 8 timers", eight_timers },
		{ "random operations on 32 timers", thirty_two_timers },
		{ "random operations on 64 timers", sixty_four_timers },
		{ "random operations on 512 timers", five_hundred_timers },
		{ 0 }
	};

	return run_tests("property", cases);
}
