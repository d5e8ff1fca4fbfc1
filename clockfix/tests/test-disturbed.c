// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * test-disturbed.c - no event changes behaviour for longer than 1,000 jobs after it ends
 *
 * An event is a machine that stands still for a while, at each point of a job in turn: while the
 * worker goes to sleep, sleeps, wakes up, learns, polls, and does its bookkeeping. Or it is a neighbour
 * that is busy, or a noise, for 5,000 jobs. Of sleeps of 8 ms and more, of which 0.17 % may be late,
 * the estimator has to remember more than 1,000. Last, what polling may take.
 */
#include "sim/waiter.h"

#define SETTLE	1000	/* jobs after which all is as it was */

/* Each fourth sleep ends in time, after which there is much to poll. */
static void jobs(int count)
{
	for (int i = 0; i < count; i++) {
		next_oversleep = i % 4 ? 20000 : 0;
		job(100000);
	}
}

/* Returns whether a job has so many events. */
static bool pause_at(uint64_t at, int64_t pause)
{
	uint64_t slept, events;
	int64_t polled;

	setup();
	jobs(600);
	sim.disturb_at = sim.events + at;
	sim.pause = pause;
	next_oversleep = 0;
	job(100000);
	events = sim.events;
	jobs(SETTLE);
	slept = sim.sleeps;
	polled = stats.polled;
	jobs(100);
	slept = sim.sleeps - slept;
	polled = stats.polled - polled;
	if (slept < 95 || polled > 100 * 8000 || cost() > 250) {
		printf("# pause %lld at event %d: %d sleeps, %lld ns polled, learning %lld ns\n",
		       (long long)pause, (int)at, (int)slept, (long long)polled / 100,
		       (long long)cost());
		CHECK(!"as before");
	}
	return events >= sim.disturb_at;
}

static void a_pause_is_forgotten(void)
{
	for (int64_t pause = 10000; pause <= 10 * NSEC_PER_SEC; pause *= 1000) {
		for (cpu_ppm = 0; cpu_ppm <= 300000; cpu_ppm += 300000) {
			/* while it polls one event is as the next: not each of them */
			for (uint64_t at = 1; pause_at(at, pause) && !check_failed;)
				at += at < 20 ? 1 : 997;
		}
	}
	cpu_ppm = 0;
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

/* Returns the mean margin. */
static double margins(int64_t interval, int count, const struct event *event)
{
	double sum = 0;

	for (int i = 0; i < count; i++) {
		next_oversleep = late_by(interval, event);
		job(interval);
		sum += waiter.est.prediction;
	}
	return sum / count;
}

struct waiting {
	double margin, polled;
};

/*
 * Of jobs 1,000 to 1,500 after an event, if there is one, ten times; each time with oversleeps of its
 * own, which are the same whatever the event was. By their pasts alone margins differ by 1 to 3 %.
 */
static struct waiting waiting_after(int64_t interval, const struct event *event)
{
	static const struct event usual = { .noise = 1 };
	struct waiting result = { 0 };

	for (int i = 0; i < 10; i++) {
		rng = 1000 + i;
		margins(interval, 5000, event ? event : &usual);
		rng = 77 + 7919 * i;
		margins(interval, SETTLE, &usual);
		result.polled -= stats.polled;
		result.margin += margins(interval, 500, &usual);
		result.polled += stats.polled;
	}
	return result;
}

static void neighbours_and_noise_are_forgotten(void)
{
	static const int64_t intervals[] = { 20000, 50000, 100000, 1000000 };
	static const struct event events[] = {
		{ 2000000, 10, 1 }, { 320000, 50, 1 }, { 3300000, 100, 1 }, { .noise = 10 },
	};

	for (int i = 0; i < 4; i++) {
		struct waiting before, after;

		setup();
		sim.realtime = true;
		waiting_after(intervals[i], NULL);
		before = waiting_after(intervals[i], NULL);
		for (int n = 0; n < 4; n++) {
			double margin, polled;

			after = waiting_after(intervals[i], &events[n]);
			margin = after.margin / before.margin;
			polled = after.polled / before.polled;
			printf("# each %lld us, event %d: margin %+.1f %%, polled %+.1f %%\n",
			       (long long)intervals[i] / 1000, n, 100 * margin - 100, 100 * polled - 100);
			CHECK(margin > 0.95 && margin < 1.05);
			CHECK(polled > 0.85 && polled < 1.15);
		}
	}
}

/* ---- what polling may take ----------------------------------------------------------------- */

/* Late jobs in millionths, and CPU time: what the program would measure. */
static void run_with(uint32_t late, uint32_t cpu, int64_t *late_seen, int64_t *cpu_seen)
{
	int64_t begin = 0, slept = 0, lates = 0;

	late_ppm = late;
	cpu_ppm = cpu;
	setup();
	late_ppm = cpu_ppm = 0;
	sim.sleep_cost = 8000;
	for (int i = 0; i < 40000; i++) {
		int64_t was_late;

		if (i == 10000) {
			begin = sim.now;
			slept = sim.slept;
		}
		next_oversleep = 10000 + check_random(&rng) % 10000;
		if (!(check_random(&rng) % 20))
			next_oversleep += check_random(&rng) % 50000;
		was_late = job(100000);
		lates += i >= 10000 && was_late > 1000;
	}
	*late_seen = lates * 1000000 / 30000;
	*cpu_seen = (sim.now - begin - sim.slept + slept) * 1000000 / (sim.now - begin);
}

static void told_one_the_other_is_found_and_both_are_reported(void)
{
	static const struct {
		uint32_t late, cpu;
		bool less;	/* of the CPU than that needs */
	} wanted[] = {
		{ 50000, 0, false }, { 10000, 0, false }, { 2000, 0, false }, { 1000, 0, false },
		{ 0, 150000, false }, { 0, 300000, false }, { 2000, 150000, true },
		{ 50000, 900000, false },
	};
	int64_t late, cpu;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		run_with(wanted[i].late, wanted[i].cpu, &late, &cpu);
		printf("# %u ppm late, %u ppm of a CPU: %lld and %lld, reported %lld and %lld\n",
		       wanted[i].late, wanted[i].cpu, (long long)late, (long long)cpu,
		       (long long)stats.late_ppm, (long long)stats.cpu_ppm);
		/* 1 in 1,000 it does not meet that closely: it remembers at most 1,200 sleeps */
		if (wanted[i].late && !wanted[i].less)
			CHECK(late < wanted[i].late * 3 / 2 &&
			      late > wanted[i].late / (wanted[i].late > 1000 ? 2 : 4));
		if (wanted[i].cpu)
			CHECK(cpu < wanted[i].cpu * 11 / 10);
		if (wanted[i].cpu && !wanted[i].late)
			CHECK(cpu > wanted[i].cpu * 8 / 10);
		/* of the last jobs, while the others are of all */
		CHECK(stats.cpu_ppm > cpu * 7 / 10 && stats.cpu_ppm < cpu * 13 / 10);
	}
}

CHECK_MAIN(TEST(a_pause_is_forgotten), TEST(neighbours_and_noise_are_forgotten),
	   TEST(told_one_the_other_is_found_and_both_are_reported))
