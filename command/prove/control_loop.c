// SPDX-License-Identifier: GPL-2.0-or-later
#include "control_loop.h"

#include "lib/text.h"
#include "loop/clock.h"
#include "loop/loads.h"
#include "loop/rounds.h"

#include <sched.h>

#define CALIBRATION_ROUNDS 200000
#define WORK_BATCHES 5
#define WORK_ROUNDS 20000
#define LEAST_MARGIN 200		/* ns: caches, translations, a busy sibling */
#define MOST_MARGIN 1000		/* what the shortest timer interrupt takes */
#define LEAD_NS 2000000

static cpu_set_t elsewhere;		/* where it may run between two turns */

void loop_sleep_until(uint64_t time)
{
	while (!loads_interrupted && monotonic_sleep_until(time) == EINTR)
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
	int ret;

	sched_getaffinity(0, sizeof(elsewhere), &elsewhere);
	ret = set_policy(SCHED_FIFO, LOOP_PRIORITY);
	if (!ret) {
		ret = loop_pin((int)loop->cpu);
		if (ret)
			control_loop_leave();
	}
	return ret;
}

void control_loop_leave(void)
{
	sched_setaffinity(0, sizeof(elsewhere), &elsewhere);
	set_policy(SCHED_OTHER, 0);
}

static int by_size(const void *a, const void *b)
{
	const uint32_t *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

void control_loop_work(const struct control_loop *loop, struct job *job)
{
	struct interruptions seen = { 0 };

	work_rounds(loop->rounds, (uint64_t)((double)loop->threshold * loop->ticks_per_ns),
		    (uint64_t)((double)loop->round * loop->ticks_per_ns), &seen);
	job->interruptions += (uint32_t)seen.count;
	job->taken += (uint64_t)((double)seen.ticks / loop->ticks_per_ns);
}

/* In batches of a job's length, so that real-time throttling has no reason to step in. */
static void time_rounds(const struct control_loop *loop, uint32_t *times)
{
	unsigned int batch = (unsigned int)(LOOP_WORK / 100);

	for (unsigned int i = 0; i < CALIBRATION_ROUNDS; i += batch) {
		unsigned int left = CALIBRATION_ROUNDS - i;

		time_each_round(&times[i], left < batch ? left : batch);
		loop_sleep_until(monotonic_now() + LOOP_PERIOD - LOOP_WORK);
	}
	for (unsigned int i = 0; i < CALIBRATION_ROUNDS; i++)
		times[i] = (uint32_t)(times[i] / loop->ticks_per_ns);
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

	loop->ticks_per_ns = measure_ticks_per_ns();
	time_rounds(loop, times);
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

static void run_one(const struct control_loop *loop, uint64_t due, struct job *job)
{
	*job = (struct job){ 0 };
	loop_sleep_until(due);
	control_loop_work(loop, job);
	job->response = monotonic_now() - due;
}

int control_loop_run(const struct control_loop *loop, struct job *jobs, unsigned int count)
{
	uint64_t due = (uint64_t)loads_zero(LEAD_NS), now;
	struct job unused;
	int missed = 0;

	for (int i = 0; i < LOOP_WARM_UP; i++, due += LOOP_PERIOD)
		run_one(loop, due, &unused);
	for (unsigned int i = 0; i < count; i++) {
		run_one(loop, due, &jobs[i]);
		if (loads_interrupted)
			return -EINTR;
		due += LOOP_PERIOD;
		for (now = monotonic_now(); now > due; due += LOOP_PERIOD)
			missed++;
	}
	return missed;
}
