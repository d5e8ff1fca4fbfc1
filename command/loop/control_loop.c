// SPDX-License-Identifier: GPL-2.0-or-later
#include "control_loop.h"
#include "clock.h"
#include "loads.h"
#include "rounds.h"

#include <sched.h>
#include <stdlib.h>

#define CALIBRATION_ROUNDS 200000
#define QUIET_ROUNDS (CALIBRATION_ROUNDS - CALIBRATION_ROUNDS / 1000)
#define WORK_BATCHES 5
#define WORK_ROUNDS 20000
#define LEAST_MARGIN 200		/* ns: caches, translations, a busy sibling */
#define MOST_MARGIN 1000		/* what the shortest timer interrupt takes */

static cpu_set_t elsewhere;		/* where it may run between two turns */

void periodic_run(struct periodic *periodic, struct job *jobs, uint64_t count)
{
	bool goes_on = true;

	for (uint64_t i = 0; goes_on && i < count; i++) {
		struct job job = { .due = periodic->due };

		if (periodic->wait)
			periodic->wait(periodic->self, job.due);
		else
			sleep_until(job.due);
		job.latency = clock_ns() - job.due;
		goes_on = periodic->work(periodic->self, &job);
		job.response = clock_ns() - job.due;
		if (jobs)
			jobs[i] = job;
		periodic->due += periodic->period;
		for (; !periodic->catches_up && periodic->due < job.due + job.response;
		     periodic->due += periodic->period)
			periodic->missed++;
	}
}

/*
 * It stays a real-time task: next to others that leave no time, an ordinary task could not end
 * them, unless it has another CPU.
 */
int control_loop_enter(const struct control_loop *loop)
{
	const struct sched_param parameter = { .sched_priority = LOOP_PRIORITY };

	sched_getaffinity(0, sizeof(elsewhere), &elsewhere);
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameter))
		return -errno;
	return loop_pin((int)loop->cpu);
}

void control_loop_leave(void)
{
	sched_setaffinity(0, sizeof(elsewhere), &elsewhere);
}

static int by_size(const void *a, const void *b)
{
	const uint32_t *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

bool control_loop_work(void *self, struct job *job)
{
	const struct control_loop *loop = self;
	struct interruptions seen = { 0 };

	work_rounds(loop->rounds, (uint64_t)(loop->threshold * loop->ticks_per_ns),
		    (uint64_t)(loop->round * loop->ticks_per_ns + 0.5), &seen);
	job->interruptions = (uint32_t)seen.count;
	job->taken = (uint64_t)((double)seen.ticks / loop->ticks_per_ns + 0.5);
	return !loads_interrupted;
}

/* In batches of a job's length, so that real-time throttling has no reason to step in. */
static void time_rounds(uint32_t *times)
{
	unsigned int batch = (unsigned int)(LOOP_WORK / 100);

	for (unsigned int i = 0; i < CALIBRATION_ROUNDS; i += batch) {
		unsigned int left = CALIBRATION_ROUNDS - i;

		time_each_round(&times[i], left < batch ? left : batch);
		sleep_until(clock_ns() + LOOP_PERIOD - LOOP_WORK);
	}
}

static void set_rounds(struct control_loop *loop)
{
	int64_t best = INT64_MAX;
	struct job unused;

	loop->rounds = WORK_ROUNDS;
	for (int i = 0; i < WORK_BATCHES; i++) {
		int64_t start = clock_ns(), took;

		control_loop_work(loop, &unused);
		took = clock_ns() - start;
		if (took < best)
			best = took;
		sleep_until(clock_ns() + LOOP_PERIOD);
	}
	loop->rounds = LOOP_WORK * WORK_ROUNDS / best;
}

int control_loop_calibrate(struct control_loop *loop)
{
	uint32_t *times = malloc(CALIBRATION_ROUNDS * sizeof(*times));
	double margin;

	if (!times)
		return -ENOMEM;
	loop->ticks_per_ns = measure_ticks_per_ns();
	time_rounds(times);
	qsort(times, CALIBRATION_ROUNDS, sizeof(*times), by_size);
	loop->round = times[0] / loop->ticks_per_ns;
	loop->quiet = times[QUIET_ROUNDS - 1] / loop->ticks_per_ns;
	free(times);
	margin = 2 * (loop->quiet - loop->round);
	if (margin < LEAST_MARGIN)
		margin = LEAST_MARGIN;
	if (margin > MOST_MARGIN)
		margin = MOST_MARGIN;
	loop->threshold = loop->round + margin;
	set_rounds(loop);
	return 0;
}
