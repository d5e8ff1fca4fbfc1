// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rule R6, two CPUs: what one of them masks costs the others nothing, and it is
 * not interrupted for the timers of others.
 *
 * On a stock kernel they fail because there is no switch.
 */
#define _GNU_SOURCE
#include "lib/shield.h"
#include "lib/task.h"
#include "lib/timers.h"
#include "lib/trace.h"

#include <pthread.h>
#include <sys/wait.h>

#define LENGTH (200 * MSEC)
#define SLEEPERS 20
#define BOOSTS 10

static void two_cpus(void)
{
	require(shield_present(), "no " SHIELD_SWITCH);
	require(online_cpus() >= 2, "needs two CPUs");
}

/*
 * CPU 0: a FIFO 90 loop of 600 us each ms; CPU 1: an ordinary hog; sleepers on both.
 * While the loop sleeps the scheduler may send what it likes.
 */
static u64 ipis_of_the_loop(void)
{
	u64 end, next, sum = 0;

	pin(0);
	become(FIFO(90));
	end = now() + LENGTH + 2 * SLEEPERS * MSEC;
	STARTED(OTHER, 1) spin_until(end);
	for (int i = 0; i < SLEEPERS; i++)
		STARTED(IDLE, 0) {
			/* Its timer is on the CPU where it ran last. */
			set_affinity(0, CPU(0) | CPU(1));
			while (now() < end)
				sleep_for(700 * USEC);
		}
	for (next = now(); next < end; next += MSEC) {
		sleep_until(next);
		sum -= ipis(0);
		spin_until(next + 600 * USEC);
		sum += ipis(0);
	}
	become(OTHER);
	while (waitpid(-1, NULL, 0) > 0)
		;
	return sum;
}

/* SCHED_IDLE sleepers, pinned to a CPU that masks them and to one that is busy */
TEST(a_loop_gets_no_interrupt_for_sleepers)
{
	struct off_on sent;

	two_cpus();
	sent = off_and_on(ipis_of_the_loop);
	/* The scheduler sends a few by itself. */
	measured(sent.on <= sent.off + LENGTH / MSEC / 20,
		 "%llu interrupts from the other CPU, %llu with the shield off", sent.on, sent.off);
}

/* Interrupts that CPU 1 gets while its task inherits a priority from a task of CPU 0 */
static u64 ipis_of_a_boost(void)
{
	pthread_mutex_t *mutex = pi_mutex_new();
	pthread_barrier_t *held = barrier_new();
	u64 before, end;

	pin(0);
	become(FIFO(99));
	end = now() + 40 * MSEC;
	STARTED(OTHER, 1) {
		pthread_mutex_lock(mutex);
		pthread_barrier_wait(held);
		spin_until(end);
		pthread_mutex_unlock(mutex);
	}
	pthread_barrier_wait(held);
	before = ipis(1);
	ASLEEP(FIFO(80), 0) {
		pthread_mutex_lock(mutex);
		pthread_mutex_unlock(mutex);
	}
	before = ipis(1) - before;
	require(now() < end, "boosted too late");
	while (waitpid(-1, NULL, 0) > 0)
		;
	become(OTHER);
	return before;
}

static u64 ipis_of_boosts(void)
{
	u64 sum = 0;

	ipis_of_a_boost();
	for (int i = 0; i < BOOSTS; i++)
		sum += ipis_of_a_boost();
	return sum;
}

/* The scheduler sends one or two a boost by itself, more or less by chance. */
TEST(a_boost_does_not_interrupt_the_owner)
{
	struct off_on sent;

	two_cpus();
	sent = off_and_on(ipis_of_boosts);
	measured(sent.on < sent.off + BOOSTS / 2, "%llu interrupts, %llu with the shield off",
		 sent.on, sent.off);
}
