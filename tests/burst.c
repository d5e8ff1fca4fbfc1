// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A burst of hostile timers keeps the timer interrupt busy for longer than it
 * may; the kernel then programs the next event late on purpose (hang_detected).
 * A higher-ranking task's timer must not wait for that, nor for the burst.
 *
 * On a stock kernel the task is late by a good part of the burst, some hundred
 * microseconds and more; likewise with the defect "the hang delay stays in the
 * device whatever expires next" put in.
 */
#define _GNU_SOURCE
#include "lib/scene.h"
#include "lib/shield.h"
#include "lib/timers.h"
#include "lib/trace.h"

#include <unistd.h>

#define TIMERFDS 3000u
#define SLEEPERS 300u
#define STEP 200u		/* ns from one timer of a burst to the next */
#define BURSTS 16u
#define PERIOD (80 * MSEC)	/* from one burst to the next, ... */
#define ARM_BEFORE (50 * MSEC)	/* ... which is armed by then */
/* Half of the time for which an interrupt serves timers of ordinary tasks (R12). */
#define FIRST (shield_is_module() || kernel_is_rt() ? PROMPT : 10 * USEC * slowness())

/*
 * The worst lateness of a FIFO-90 task that wakes up once in every burst, later
 * from one to the next: one of them falls into the pause if there is one. LENGTH: less than two
 * ticks, when timers that are held come before it.
 */
static u64 lateness_in_bursts(u64 start, u64 length)
{
	u64 worst = 0;

	for (unsigned int round = 0; round < BURSTS; round++) {
		u64 late, due = start + round * PERIOD + (round + 1) * length / BURSTS;

		sleep_until(due);
		late = now() - due;
		if (late > worst)
			worst = late;
	}
	return worst;
}

/* Without bursts. */
static u64 lateness_alone(void)
{
	return lateness_in_bursts(now() + PERIOD, 1 * MSEC);
}

static void check_lateness(u64 alone, u64 late, unsigned int before, const char *load)
{
	measured(late <= alone + FIRST, "%s: %llu ns late at worst, %llu alone", load, late, alone);
	check(hangs() == before, "%s: the kernel took %u interrupts for hangs", load, hangs() - before);
}

/* One unprivileged process, 3,000 timerfds in 0.6 ms. */
TEST(unprivileged_timerfds)
{
	u64 start, alone, late;
	unsigned int before;

	pin(test_cpu);
	become(FIFO(90));
	/* Before there are many timers: printing them is quadratic. */
	before = hangs();
	alone = lateness_alone();
	start = now() + 300 * MSEC;
	STARTED(OTHER) {
		static int fds[TIMERFDS];

		allow_files(TIMERFDS);
		for (unsigned int i = 0; i < TIMERFDS; i++)
			fds[i] = timerfd_new(CLOCK_MONOTONIC, 0);
		for (unsigned int round = 0; round < BURSTS; round++) {
			u64 first = start + round * PERIOD;

			sleep_until(first - ARM_BEFORE);
			for (unsigned int i = 0; i < TIMERFDS; i++)
				timerfd_arm(fds[i], first + i * STEP, 0);
			require(now() < first, "burst %u was armed too late", round);
		}
		pause();
	}
	late = lateness_in_bursts(start, TICK / 2);
	check_lateness(alone, late, before, "3000 timerfds in 0.6 ms");
}

/* The same by tasks that sleep, which PREEMPT_RT wakes in the interrupt too. */
TEST(low_priority_sleepers)
{
	u64 start, alone, late;
	unsigned int before;

	pin(test_cpu);
	become(FIFO(90));
	before = hangs();
	alone = lateness_alone();
	start = now() + 400 * MSEC;
	for (unsigned int i = 0; i < SLEEPERS; i++)
		STARTED(LOW(5))
			for (unsigned int round = 0; round < BURSTS; round++)
				sleep_until(start + round * PERIOD + i * STEP);
	require(now() < start, "the sleepers were started too late");
	late = lateness_in_bursts(start, 400 * USEC);
	check_lateness(alone, late, before, "300 sleepers in 60 us");
}

/*
 * By levels FIFO 90 masks 3,000 timers of FIFO 10, and the switch to the idle task serves them; but
 * interrupts get in. Its own timer is in one: it is armed with the shield off, and so has no level.
 */
TEST(a_release)
{
	u64 due = now() + 300 * MSEC;
	sigset_t set = block_signal(SIGRTMIN);

	shield_needs_levels();
	if (kernel_is_rt())
		skip("a thread serves timerfds and signal timers");
	pin(test_cpu);
	become(FIFO(90));
	shield_set(false);
	posix_timer_arm(SIGEV_SIGNAL, 0, due, 0);
	shield_set(true);
	ASLEEP(FIFO(10)) {
		allow_files(TIMERFDS);
		for (unsigned int i = 0; i < TIMERFDS; i++)
			timerfd_arm(timerfd_new(CLOCK_MONOTONIC, 0), due - MSEC, 0);
		pause();
	}
	require(now() < due - MSEC, "the timers were armed too late");
	spin_until(due - 50 * USEC);
	sigwaitinfo(&set, NULL);
	measured(now() <= due + PROMPT, "%llu ns late next to a release", now() - due);
}

int main(int argc, char **argv)
{
	return run_tests(argc, argv, 0);
}
