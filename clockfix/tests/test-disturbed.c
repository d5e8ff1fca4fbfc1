// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * test-disturbed.c - no single event changes behaviour for good
 *
 * A machine that stands still for a while, or a counter that jumps, at each point of a job in
 * turn: while the worker goes to sleep, sleeps, wakes up, learns, polls, and does its bookkeeping.
 */
#include "sim/waiter.h"

#define INTERVAL	100000
#define OVERSLEEP	20000	/* but for each fourth sleep, after which there is much to poll */
#define SETTLE		1000	/* jobs after which all is as it was */

static uint64_t sleeps_of(int jobs)
{
	uint64_t sleeps = sim.sleeps;

	for (int i = 0; i < jobs; i++) {
		next_oversleep = i % 4 ? OVERSLEEP : 0;
		job(INTERVAL);
	}
	return sim.sleeps - sleeps;
}

static struct {
	struct waiter waiter;
	struct stats stats;
	struct sim sim;
} steady;

static void go_back(void)
{
	waiter = steady.waiter;
	memcpy(&stats, &steady.stats, sizeof(stats));
	sim = steady.sim;
	next_oversleep = 0;
}

/* To the steady state; returns the number of events of one job. */
static uint64_t settle(int estimator, bool counter, int share)
{
	uint64_t events;

	if (counter)
		setup_counter(estimator);
	else
		setup(estimator);
	waiter.poll_share = share;
	sleeps_of(200);
	steady.waiter = waiter;
	memcpy(&steady.stats, &stats, sizeof(stats));
	steady.sim = sim;
	go_back();
	events = sim.events;
	job(INTERVAL);
	return sim.events - events;
}

static void disturb(int estimator, bool counter, int share, int64_t pause, int64_t jump)
{
	uint64_t events = settle(estimator, counter, share);

	/* while it polls one event is as the next: not each of them */
	for (uint64_t at = 1; at <= events && !check_failed; at += at < 20 ? 1 : 499) {
		int64_t polled;
		uint64_t slept;

		go_back();
		sim.disturb_at = sim.events + at;
		sim.pause = pause;
		sim.jump = jump;
		job(INTERVAL);
		sleeps_of(SETTLE);
		sim.pause = sim.jump = 0;
		polled = stats.polled;
		slept = sleeps_of(100);
		polled = stats.polled - polled;
		if (slept < 95 || polled > 100 * 8000 || cost() > 250) {
			printf("# estimator %d, counter %d, pause %lld, jump %lld at event %d: "
			       "%d sleeps, %lld ns polled, learning %lld ns\n", estimator, counter,
			       (long long)pause, (long long)jump, (int)at, (int)slept,
			       (long long)polled / 100, (long long)cost());
			CHECK(!"as before");
		}
	}
}

static void a_pause_is_forgotten(void)
{
	for (int64_t pause = 10000; pause <= 10 * NSEC_PER_SEC && !check_failed; pause *= 1000) {
		for (int counter = 0; counter < 2; counter++) {
			disturb(CLOCKFIX_ESTIMATOR_MAX, counter, 100, pause, 0);
			disturb(CLOCKFIX_ESTIMATOR_DEFAULT, counter, 100, pause, 0);
			disturb(CLOCKFIX_ESTIMATOR_DEFAULT, counter, 20, pause, 0);
		}
	}
}

static void a_jump_of_the_counter_is_forgotten(void)
{
	static const int64_t jumps[] = { 1000, NSEC_PER_SEC / 100, 100 * NSEC_PER_SEC,
					 1000000 * NSEC_PER_SEC };

	for (size_t i = 0; i < sizeof(jumps) / sizeof(*jumps) && !check_failed; i++) {
		disturb(CLOCKFIX_ESTIMATOR_DEFAULT, true, 100, 0, jumps[i]);
		disturb(CLOCKFIX_ESTIMATOR_DEFAULT, true, 100, 0, -jumps[i]);
	}
}

/* Suspend, migration, CRIU: the counter goes on from anywhere while it is polled. */
static void a_jump_costs_five_microseconds_at_most(void)
{
	uint64_t first = 1;

	for (int64_t jump = 100; jump < INT64_MAX / 400; jump *= 289) {
		for (int sign = -1; sign <= 1; sign += 2, first++) {
			uint64_t events = settle(CLOCKFIX_ESTIMATOR_DEFAULT, true, 100);

			/* of the polling each seventh event, others for each jump */
			for (uint64_t at = 1; at <= events && !check_failed;
			     at += at < 20 + first % 7 ? 1 : 7) {
				int64_t late;

				go_back();
				sim.disturb_at = sim.events + at;
				sim.jump = sign * jump;
				next_oversleep = 0;
				late = job(INTERVAL);
				if (late > 5000)
					printf("# jump %lld at event %d: %lld ns late\n",
					       (long long)(sign * jump), (int)at, (long long)late);
				CHECK(late <= 5000);
			}
		}
	}
}

/* what made it wait longer for low power is forgotten, too */
static void low_power_that_was_late_once_is_trusted_again(void)
{
	settle(CLOCKFIX_ESTIMATOR_DEFAULT, true, 100);
	sim.has_low_power = true;
	waiter.low_power = true;
	sleeps_of(10);
	sim.low_power_late = 6000;
	next_oversleep = 0;
	job(INTERVAL);
	sim.low_power_late = 0;
	CHECK(waiter.low_power_guard > 500);
	sleeps_of(SETTLE);
	CHECK(waiter.low_power_guard <= 700);
}

CHECK_MAIN(TEST(a_pause_is_forgotten), TEST(a_jump_of_the_counter_is_forgotten),
	   TEST(a_jump_costs_five_microseconds_at_most),
	   TEST(low_power_that_was_late_once_is_trusted_again))
