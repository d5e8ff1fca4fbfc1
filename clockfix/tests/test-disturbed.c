// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * test-disturbed.c - no event changes behaviour for longer than 1,000 jobs after it ends
 *
 * An event is a machine that stands still for a while, at each point of a job in turn: while the
 * worker goes to sleep, sleeps, wakes up, learns, polls, and does its bookkeeping. Or it is a neighbour
 * that is busy, or a noise, for 5,000 jobs. Of sleeps of 8 ms and more, of which 0.17 % may be late,
 * the estimator has to remember more than 1,000.
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
	struct clockfix_stats stats;
	struct sim sim;
} steady;

static void go_back(void)
{
	waiter = steady.waiter;
	stats = steady.stats;
	sim = steady.sim;
	next_oversleep = 0;
}

/* To the steady state; returns the number of events of one job. */
static uint64_t settle(void)
{
	uint64_t events;

	setup();
	sleeps_of(600);
	steady.waiter = waiter;
	steady.stats = stats;
	steady.sim = sim;
	go_back();
	events = sim.events;
	job(INTERVAL);
	return sim.events - events;
}

static void disturb(uint32_t budget, int64_t pause)
{
	uint64_t events;

	cpu_ppm = budget;
	events = settle();
	cpu_ppm = 0;
	/* while it polls one event is as the next: not each of them */
	for (uint64_t at = 1; at <= events && !check_failed; at += at < 20 ? 1 : 997) {
		int64_t polled;
		uint64_t slept;

		go_back();
		sim.disturb_at = sim.events + at;
		sim.pause = pause;
		job(INTERVAL);
		sleeps_of(SETTLE);
		sim.pause = 0;
		polled = stats.polled;
		slept = sleeps_of(100);
		polled = stats.polled - polled;
		if (slept < 95 || polled > 100 * 8000 || cost() > 250) {
			printf("# pause %lld at event %d: %d sleeps, %lld ns polled, "
			       "learning %lld ns\n", (long long)pause, (int)at, (int)slept,
			       (long long)polled / 100, (long long)cost());
			CHECK(!"as before");
		}
	}
}

static void a_pause_is_forgotten(void)
{
	for (int64_t pause = 10000; pause <= 10 * NSEC_PER_SEC && !check_failed; pause *= 1000) {
		disturb(0, pause);
		disturb(300000, pause);
	}
}

/* ---- neighbours and noise ---------------------------------------------------------------- */

/* @percent of the sleeps end about @busy late, and all thin out @noise times as slowly. */
struct event {
	int64_t busy;
	unsigned int percent, noise;
};

/* with a mean of @mean: the number of zero bits thins out by half from bit to bit */
static int64_t exponential(int64_t mean)
{
	uint64_t bits = check_random(&rng);

	return (__builtin_ctzll(bits | 1ULL << 40) * 1024 + (bits >> 54)) * mean * 693 / 1024000;
}

/*
 * As measured on a virtual machine: most around a fifth of the interval or 25 us; they thin out
 * exponentially, but for one in 50, which has a tail four times as long.
 */
static int64_t late_by(int64_t interval, const struct event *event)
{
	int64_t most = interval / 5 < 25000 ? interval / 5 : 25000, more;

	if (event->percent && check_random(&rng) % 100 < event->percent)
		return event->busy / 2 + (int64_t)(check_random(&rng) % event->busy);
	more = exponential(most / 16);
	if (!(check_random(&rng) % 50))
		more += exponential(most / 4);
	return most / 2 + event->noise * more;
}

struct share {
	double margin, polled;	/* sums, in ns */
};

static void wait_for(int64_t interval, int jobs, const struct event *event, struct share *share)
{
	int64_t polled = stats.polled;

	for (int i = 0; i < jobs; i++) {
		next_oversleep = late_by(interval, event);
		job(interval);
		if (share)
			share->margin += waiter.est.prediction;
	}
	if (share)
		share->polled += stats.polled - polled;
}

static const struct event usual = { .noise = 1 };

#define FUTURES 10

/* Jobs 1,000 to 1,500 after the event, if there is one, that all twins of one @future meet. */
static void run_twins(int64_t interval, const struct event *event, struct share *share)
{
	for (int future = 0; future < FUTURES; future++) {
		go_back();
		rng = 1000 + future;
		wait_for(interval, event ? 5000 : 0, event, NULL);
		rng = 77 + 7919 * future;
		wait_for(interval, SETTLE, &usual, NULL);
		wait_for(interval, 500, &usual, share);
	}
}

/*
 * Twins meet the same oversleeps, but for the event. By their pasts alone, without events, one
 * margin differs from another by 1 to 3 %, polling by 4 %: that is looked at over ten futures.
 */
static void compare_twins(int64_t interval, const struct event *event)
{
	struct share with = { 0 }, without = { 0 };
	double margin, polled;

	run_twins(interval, NULL, &without);
	run_twins(interval, event, &with);
	margin = with.margin / without.margin;
	polled = with.polled / without.polled;
	printf("# each %lld us, after %s: margin %+.1f %%, polled %+.1f %%\n",
	       (long long)interval / 1000, event->percent ? "a neighbour" : "noise",
	       100 * margin - 100, 100 * polled - 100);
	CHECK(margin > 0.95 && margin < 1.05);
	CHECK(polled > 0.85 && polled < 1.15);
}

static void settle_usual(int64_t interval)
{
	setup();
	wait_for(interval, 12000, &usual, NULL);
	steady.waiter = waiter;
	steady.stats = stats;
	steady.sim = sim;
}

static void neighbours_and_noise_are_forgotten(void)
{
	static const int64_t intervals[] = { 20000, 50000, 100000, 1000000 };
	static const struct event events[] = {
		{ 2000000, 10, 1 }, { 320000, 50, 1 }, { 3300000, 100, 1 }, { .noise = 10 },
	};

	for (int i = 0; i < 4; i++) {
		settle_usual(intervals[i]);
		for (int n = 0; n < 4; n++)
			compare_twins(intervals[i], &events[n]);
	}
}

CHECK_MAIN(TEST(a_pause_is_forgotten), TEST(neighbours_and_noise_are_forgotten))
