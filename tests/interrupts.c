// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rule R9, no new cost where it is not used: over a fixed scenario the shield
 * raises no more timer interrupts than there are without it, and a context
 * switch between tasks of one level does nothing.
 *
 * On a stock kernel they fail because there is no switch. With the defect
 * "program the device at every context switch" put in, the scenario has some
 * thousand interrupts more.
 */
#define _GNU_SOURCE
#include "lib/shield.h"
#include "lib/task.h"
#include "lib/trace.h"

#include <sys/wait.h>

#define JOBS 500
/* Every run begins at the same phase of the tick, so that runs can be compared. */
#define PHASE (20 * MSEC)

/* A 1 kHz loop at FIFO 90 and sleepers below it; timer interrupts of the run. */
static u64 run_scenario(unsigned int sleepers, unsigned int levels)
{
	u64 start, end, before, count;

	pin(test_cpu);
	become(FIFO(99));
	start = (now() / PHASE + 2) * PHASE;
	end = start + JOBS * MSEC;
	/* Periods from 1 to 20 ms that drift against the loop's. */
	for (unsigned int i = 1; i <= sleepers; i++)
		STARTED(LOW(1 + (i - 1) % levels)) {
			u64 period = 1 * MSEC + i * 379 * USEC;

			for (u64 next = start + i * 13 * USEC; next < end; next += period)
				sleep_until(next);
		}
	STARTED(FIFO(90)) {
		for (u64 next = start; next < end; next += MSEC) {
			sleep_until(next);
			spin_until(now() + 300 * USEC);
		}
	}
	sleep_until(start - 1 * MSEC);
	before = timer_interrupts(test_cpu);
	/* Before the next tick: what Linux' own timers add depends on their phase. */
	sleep_until(end - 100 * USEC);
	count = timer_interrupts(test_cpu) - before;
	sleep_until(end + 30 * MSEC);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return count;
}

/* At most ALLOWED per 1000 more than with the shield off, and one at the run's edges. */
static void compare(unsigned int sleepers, unsigned int levels, unsigned int allowed)
{
	u64 off, on;

	require(shield_present(), "no " SHIELD_SWITCH);
	shield_set(false);
	off = run_scenario(sleepers, levels);
	shield_set(true);
	on = run_scenario(sleepers, levels);
	require(off > JOBS, "only %llu interrupts: the counter is not the timer's", off);
	measured(on <= off + 1 + off * allowed / 1000,
		 "%llu timer interrupts, %llu with the shield off, %u per 1000 more allowed", on, off,
		 allowed);
}

TEST(control_loop_alone)
{
	compare(0, 1, 0);
}

/* Those that expire during a job share an interrupt after it: there must be fewer. */
TEST(fifty_sleepers_of_one_level)
{
	compare(50, 1, 0);
}

/*
 * Timers of different levels that expire within the same few microseconds share
 * an interrupt on stock. Here the higher one's task runs before the lower one
 * expires (rule R1), which takes an interrupt of its own.
 */
TEST(fifty_sleepers_of_many_levels)
{
	compare(50, 50, 20);
}

TEST(one_sleeper)
{
	compare(1, 1, 5);
}

/*
 * Two tasks of different levels, switching all the time. Pending timers are far away: switching
 * between levels reprograms nothing.
 */
static u64 switch_levels(void)
{
	unsigned int *turn = shared_memory(sizeof(*turn));
	u64 before;

	pin(test_cpu);
	become(FIFO(60));
	before = timer_interrupts(test_cpu);
	STARTED(FIFO(20)) {
		for (unsigned int i = 0; i < 2000; i += 2) {
			wait_while(turn, i, 0);
			__atomic_store_n(turn, i + 2, __ATOMIC_RELEASE);
			wake_all(turn);
		}
	}
	for (unsigned int i = 0; i < 2000; i += 2) {
		__atomic_store_n(turn, i + 1, __ATOMIC_RELEASE);
		wake_all(turn);
		wait_while(turn, i + 1, 0);
	}
	wait(NULL);
	return timer_interrupts(test_cpu) - before;
}

TEST(switching_between_levels_raises_no_interrupt)
{
	struct off_on seen;

	require(shield_present(), "no " SHIELD_SWITCH);
	switch_levels();
	seen = off_and_on(switch_levels);
	measured(seen.on <= seen.off + 1,
		 "2000 switches: %llu timer interrupts, %llu with the shield off", seen.on, seen.off);
}
