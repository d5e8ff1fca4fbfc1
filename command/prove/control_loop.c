// SPDX-License-Identifier: GPL-2.0-or-later
#include "control_loop.h"

#include "lib/text.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#define CALIBRATION_ROUNDS 200000
#define WORK_BATCHES 5
#define WORK_ROUNDS 20000
#define LEAST_MARGIN 200		/* ns: caches, translations, a busy sibling */
#define MOST_MARGIN 1000		/* what the shortest timer interrupt takes */
/* Ticks come at multiples of 1, 4 or 10 ms: no job lies across one. */
#define ALIGN_NS 20000000
#define OFFSET_NS 500000

volatile sig_atomic_t prove_interrupted;

static volatile uint64_t sink;
static cpu_set_t elsewhere;		/* where it may run between two turns */

void loop_sleep_until(uint64_t time)
{
	while (!prove_interrupted && monotonic_sleep_until(time) == EINTR)
		;
}

static int set_policy(int policy, int priority)
{
	struct sched_param parameter = { .sched_priority = priority };

	return sched_setscheduler(0, policy, &parameter) ? -errno : 0;
}

/*
 * While it may run on that CPU alone it is a real-time task: next to one that never sleeps an
 * ordinary task gets no time.
 */
int control_loop_enter(const struct control_loop *loop)
{
	cpu_set_t cpu;
	int ret;

	CPU_ZERO(&cpu);
	CPU_SET(loop->cpu, &cpu);
	sched_getaffinity(0, sizeof(elsewhere), &elsewhere);
	ret = set_policy(SCHED_FIFO, LOOP_PRIORITY);
	if (!ret && sched_setaffinity(0, sizeof(cpu), &cpu)) {
		ret = -errno;
		control_loop_leave();
	}
	return ret;
}

void control_loop_leave(void)
{
	sched_setaffinity(0, sizeof(elsewhere), &elsewhere);
	set_policy(SCHED_OTHER, 0);
}

static inline uint64_t round_of_work(uint64_t x)
{
	for (int i = 0; i < 16; i++)
		x = x * 6364136223846793005ull + 1442695040888963407ull;
	return x;
}

__attribute__((noinline))
void control_loop_work(const struct control_loop *loop, struct job *job)
{
	const uint64_t threshold = loop->threshold, round = loop->round;
	uint64_t before = monotonic_now(), x = before;

	for (uint64_t i = 0; i < loop->rounds; i++) {
		uint64_t now;

		x = round_of_work(x);
		now = monotonic_now();
		if (now - before > threshold) {
			job->interruptions++;
			job->taken += now - before - round;
		}
		before = now;
	}
	sink = x;
}

static int by_size(const void *a, const void *b)
{
	const uint32_t *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

/* In batches of a job's length, so that real-time throttling has no reason to step in. */
static void time_rounds(uint32_t *times, unsigned int count)
{
	uint64_t before = monotonic_now(), x = before, batch = before;

	for (unsigned int i = 0; i < count; i++) {
		uint64_t now;

		x = round_of_work(x);
		now = monotonic_now();
		times[i] = now - before < UINT32_MAX ? (uint32_t)(now - before) : UINT32_MAX;
		before = now;
		if (now - batch < LOOP_WORK)
			continue;
		loop_sleep_until(batch + LOOP_PERIOD);
		batch = monotonic_now();
		before = monotonic_now();
	}
	sink = x;
}

static void set_rounds(struct control_loop *loop)
{
	uint64_t best = UINT64_MAX;
	struct job unused = { 0 };

	loop->rounds = WORK_ROUNDS;
	for (int i = 0; i < WORK_BATCHES; i++) {
		uint64_t start = monotonic_now(), took;

		control_loop_work(loop, &unused);
		took = monotonic_now() - start;
		if (took < best)
			best = took;
		loop_sleep_until(monotonic_now() + LOOP_PERIOD);
	}
	loop->rounds = LOOP_WORK * WORK_ROUNDS / best;
}

void control_loop_calibrate(struct control_loop *loop)
{
	uint32_t *times = grow(NULL, CALIBRATION_ROUNDS, sizeof(*times));
	uint64_t margin;

	time_rounds(times, CALIBRATION_ROUNDS);
	qsort(times, CALIBRATION_ROUNDS, sizeof(*times), by_size);
	loop->round = times[0];
	loop->quiet = times[CALIBRATION_ROUNDS - CALIBRATION_ROUNDS / 1000 - 1];
	free(times);
	margin = 2 * (loop->quiet - loop->round);
	if (margin < LEAST_MARGIN)
		margin = LEAST_MARGIN;
	if (margin > MOST_MARGIN)
		margin = MOST_MARGIN;
	loop->threshold = loop->round + margin;
	set_rounds(loop);
}

uint64_t control_loop_grid(uint64_t lead)
{
	uint64_t time = monotonic_now() + lead;

	return time - time % ALIGN_NS + ALIGN_NS + OFFSET_NS;
}

static void run_one(const struct control_loop *loop, uint64_t due, struct job *job)
{
	*job = (struct job){ 0 };
	loop_sleep_until(due);
	control_loop_work(loop, job);
	job->response = monotonic_now() - due;
}

int control_loop_run(const struct control_loop *loop, uint64_t grid, struct job *jobs,
		     unsigned int count)
{
	uint64_t due = grid, now = monotonic_now();
	struct job unused;
	int missed = 0;

	if (now > due)
		due += ((now - due) / LOOP_PERIOD + 1) * LOOP_PERIOD;
	for (int i = 0; i < LOOP_WARM_UP; i++, due += LOOP_PERIOD)
		run_one(loop, due, &unused);
	for (unsigned int i = 0; i < count; i++) {
		run_one(loop, due, &jobs[i]);
		if (prove_interrupted)
			return -EINTR;
		due += LOOP_PERIOD;
		for (now = monotonic_now(); now > due; due += LOOP_PERIOD)
			missed++;
	}
	return missed;
}
