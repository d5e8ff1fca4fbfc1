// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rule R11, bounded hold: no timer is held for longer than the masking task runs, or than two
 * ticks, behind N others N callbacks / 20 us half ticks. FIFO 50 spins on CPU 0 for 600 ms; others
 * can run on CPU 1.
 */
#define _GNU_SOURCE
#include "file.h"
#include "lib/shield.h"
#include "lib/task.h"
#include "lib/timers.h"
#include "lib/trace.h"

#include <signal.h>
#include <unistd.h>

#define SOON (200 * USEC)
#define SLEEP (100 * MSEC)
#define HOG (600 * MSEC)

/* FIFO 50 spins on test_cpu. */
static void hog(void)
{
	STARTED(FIFO(50)) spin_until(now() + HOG);
}

struct sleeper {
	u64 due, woke;
};

static struct sleeper *sleeper_new(void)
{
	return shared_memory(sizeof(struct sleeper));
}

static void nap(struct sleeper *sleeper)
{
	sleeper->due = now() + SLEEP;
	sleep_until(sleeper->due);
	sleeper->woke = now();
}

/* Armed on this CPU, waited for on either. */
static void run_on_both(void)
{
	set_affinity(0, CPU(0) | CPU(1));
}

static void check_late(const struct sleeper *sleeper, u64 bound)
{
	u64 late = sleeper->woke - sleeper->due;

	check(sleeper->woke >= sleeper->due, "woke too early");
	measured(late <= bound * slowness(), "woke %llu ns late, at most %llu are expected", late,
		 bound * slowness());
}

/* FIFO 10, armed here. */
static struct sleeper *start_sleeper(void)
{
	struct sleeper *sleeper = sleeper_new();

	ASLEEP(FIFO(10)) {
		run_on_both();
		nap(sleeper);
	}
	return sleeper;
}

static void hog_and_check(const struct sleeper *sleeper, u64 bound)
{
	hog();
	sleep_for(HOG);
	check_late(sleeper, bound);
}

/* There timers of ordinary tasks, and timerfds, expire in a thread that the hog outranks. */
static void not_in_a_thread(void)
{
	if (kernel_is_rt())
		skip("it expires in a thread");
}

static void two_cpus(void)
{
	needs_two_cpus();
	pin(!test_cpu);
	become(FIFO(99));
}

/*
 * Its timer is on the hogged CPU, it could run on the other one. A real-time task is pushed
 * there at its wake-up; an ordinary one waits until the other CPU balances, shield or not.
 */
TEST(a_sleeper_that_could_run_elsewhere)
{
	two_cpus();
	/* The first tick that finds it held for a tick. */
	hog_and_check(start_sleeper(), 2 * TICK + SOON);
}

/* 20 other timers a tick are held with it. */
TEST(a_sleeper_among_many)
{
	struct sleeper *sleeper = sleeper_new();
	u64 expiry = now() + SLEEP;

	pin(test_cpu);
	for (unsigned int i = 0; i < 400; i++)
		timerfd_arm(timerfd_new(CLOCK_MONOTONIC, 0), expiry + i * TICK / 20, 0);
	two_cpus();
	/* By CLOCK_BOOTTIME, whose queue comes after that of CLOCK_MONOTONIC. */
	ASLEEP(FIFO(10)) {
		struct timespec length = to_timespec(SLEEP);

		run_on_both();
		sleeper->due = now() + SLEEP;
		clock_nanosleep(CLOCK_BOOTTIME, 0, &length, NULL);
		sleeper->woke = now();
	}
	hog_and_check(sleeper, 4 * TICK);
}

#define FLOOD 1000

/* Timerfds that expire from FIRST on, a microsecond after each other, at the caller's level. */
static void arm_many(unsigned int count, u64 first)
{
	allow_files(count);
	for (unsigned int i = 0; i < count; i++)
		timerfd_arm(timerfd_new(CLOCK_MONOTONIC, 0), first + i * USEC, 0);
}

/*
 * By levels it waits for its turn behind them, a callback of 1 us each; by classes it is not masked.
 * Only the tick interrupts the hog. A distribution's kernel takes longer for each.
 */
TEST(a_sleeper_beside_a_flood_of_lower_ones)
{
	not_in_a_thread();
	pin(test_cpu);
	arm_many(FLOOD, now() + SLEEP - 2 * MSEC);
	two_cpus();
	hog_and_check(start_sleeper(),
		      SOON + (!shield_has_levels() ? 0 :
			      HOLD + FLOOD * (shield_is_module() ? TICK / 13 : TICK / 20)));
}

/* The oldest first: higher ones that expire after it do not count. */
TEST(a_sleeper_beside_a_flood_of_higher_ones)
{
	struct sleeper *sleeper;

	not_in_a_thread();
	two_cpus();
	sleeper = start_sleeper();
	ASLEEP(FIFO(40)) {
		arm_many(FLOOD / 5, sleeper->due + USEC);
		pause();
	}
	hog_and_check(sleeper, 2 * TICK + SOON);
}

static void cpu_without_a_tick(void)
{
	if (access("/sys/devices/system/cpu/nohz_full", F_OK))
		skip("the kernel has no CONFIG_NO_HZ_FULL");
	/* Where it is armed a timer stays. */
	require(file_write("/proc/sys/kernel/timer_migration", "0") >= 0, "timer_migration");
	test_cpu = 1;
	two_cpus();
}

static u64 interrupts_until(u64 end)
{
	u64 before = timer_interrupts(test_cpu);

	sleep_until(end);
	return timer_interrupts(test_cpu) - before;
}

/* Where the tick is stopped, an interrupt of its own takes its place. */
TEST(a_sleeper_without_a_tick)
{
	struct sleeper *sleeper;
	u64 interrupts;

	cpu_without_a_tick();
	sleeper = start_sleeper();
	hog();
	sleep_until(sleeper->due - SLEEP / 2);
	interrupts = interrupts_until(sleeper->due - USEC);
	if (interrupts > SLEEP / 2 / TICK / 2)
		skip("the tick is not stopped on CPU %d", test_cpu);
	sleep_until(sleeper->due + HOG / 2);
	check_late(sleeper, 2 * TICK + SOON);
}

#define WAKES 20u

/*
 * The interrupt of its own that a held timer gets wakes a real-time task, too, which comes first. The
 * timer is not due at once then: that would be taken for a hang, and the device be set late.
 */
TEST(a_task_that_wakes_with_a_held_timer)
{
	u64 start = now() + SLEEP;
	unsigned int before;

	not_in_a_thread();
	cpu_without_a_tick();
	ASLEEP(OTHER) {
		for (unsigned int i = 0; i < WAKES; i++)
			timerfd_arm(timerfd_new(CLOCK_MONOTONIC, 0), start + i * 5 * TICK, 0);
		pause();
	}
	before = hangs();
	ASLEEP(FIFO(90))
		for (unsigned int i = 0; i < WAKES; i++)
			sleep_until(start + i * 5 * TICK + TICK);
	hog();
	sleep_for(HOG);
	measured(hangs() == before, "%u hangs", hangs() - before);
}

/*
 * Rule R6: a stock kernel queues its timers on the other CPU, which is busy; but FIFO 50 masks them
 * there.
 */
TEST(a_sleeper_whose_timer_could_be_elsewhere)
{
	u64 end;

	if (access("/sys/devices/system/cpu/nohz_full", F_OK))
		skip("the kernel has no CONFIG_NO_HZ_FULL");
	needs_two_cpus();
	pin(!test_cpu);
	become(FIFO(99));
	end = now() + HOG;
	hog();
	become(OTHER);
	while (now() < end - 2 * TICK) {
		struct sleeper sleeper = { .due = now() + 10 * MSEC };

		sleep_until(sleeper.due);
		sleeper.woke = now();
		check_late(&sleeper, SOON);
	}
}

#define SLEEPERS 8

/* Softirqs that leave nothing behind do not lengthen the hold of timers that expire in none. */
TEST(a_sleeper_without_a_tick_beside_softirqs)
{
	struct sleeper *sleepers[SLEEPERS];
	u64 end;

	if (!kernel_is_rt())
		skip("timers of tasks expire in no softirq");
	cpu_without_a_tick();
	set_softirq_threads(test_cpu, FIFO(98));
	for (unsigned int i = 0; i < SLEEPERS; i++, sleep_for(TICK + 1500 * USEC))
		sleepers[i] = start_sleeper();
	/* On PREEMPT_RT each of its timers is a softirq. */
	ASLEEP(FIFO(60)) {
		allow_files(200);
		for (unsigned int i = 0; i < 200; i++)
			timerfd_arm(timerfd_new(CLOCK_MONOTONIC, 0),
				    sleepers[0]->due + i * 300 * USEC, 0);
		pause();
	}
	end = now() + HOG;
	hog();
	sleep_until(end - HOG / 2);
	if (interrupts_until(end - SLEEP) > SLEEP / TICK)
		skip("the tick is not stopped on CPU %d", test_cpu);
	for (unsigned int i = 0; i < SLEEPERS; i++)
		check_late(sleepers[i], TICK + SOON);
}

/* It expires, but the end of its hold is beyond what the kernel can count to. */
TEST(the_longest_sleep_without_a_tick)
{
	u64 interrupts;

	not_in_a_thread();
	cpu_without_a_tick();
	ASLEEP(OTHER) {
		struct timespec time = to_timespec(INT64_MAX - now() - TICK / 2);

		nanosleep(&time, NULL);
	}
	hog();
	sleep_for(SLEEP);
	interrupts = interrupts_until(now() + SLEEP);
	/* Where the tick is not stopped, it is one of them. */
	check(interrupts <= 2 * SLEEP / TICK, "%llu timer interrupts in %llu ms", interrupts,
	      SLEEP / MSEC);
}

/* If each tick wakes real-time tasks, timers that are held expire between the ticks. */
TEST(a_sleeper_beside_those_on_the_tick)
{
	struct sleeper *sleeper;

	not_in_a_thread();
	two_cpus();
	sleeper = start_sleeper();
	for (unsigned int i = 0; i < 24; i++)
		STARTED(FIFO(60))
			while (!sleeper->woke)
				sleep_until((now() / TICK + 1) * TICK);
	hog_and_check(sleeper, 3 * TICK + SOON);
}

/*
 * The same while the hog sleeps for moments, in which nothing is released: the tick wakes another
 * task first. The timer sends a signal to a task on the other CPU.
 */
TEST(a_signal_beside_those_on_the_tick_and_naps)
{
	struct sleeper *sleeper = sleeper_new();
	u64 end;

	not_in_a_thread();
	two_cpus();
	STARTED(OTHER) {
		sigset_t set = block_signal(SIGRTMIN);

		pin(test_cpu);
		sleeper->due = now() + SLEEP;
		posix_timer_arm(SIGEV_SIGNAL, 0, sleeper->due, 0);
		pin(!test_cpu);
		sigwaitinfo(&set, NULL);
		sleeper->woke = now();
	}
	sleep_for(SLEEP / 2);
	STARTED(FIFO(60))
		while (!sleeper->woke)
			sleep_until((now() / TICK + 1) * TICK);
	end = now() + HOG;
	STARTED(FIFO(50))
		while (now() < end) {
			spin_until(now() + 900 * USEC);
			sleep_for(800);
		}
	sleep_until(end);
	check_late(sleeper, 3 * TICK + SOON);
}
