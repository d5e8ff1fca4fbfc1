// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Timers wait on a CPU that is busy, of tasks that may run on the next one, which
 * idles. Each round is the same: the tasks set their timers on the CPU that will be
 * busy, one after the other; a job keeps it busy from before the first expires until
 * after the last.
 */
#define _GNU_SOURCE
#include "rank.h"
#include "clock.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>

#define STACK_SIZE (64 * 1024)
#define SLEEPERS_PRIORITY 50
#define STARTERS_PRIORITY 40
#define TO_START (200 * NSEC_PER_USEC)	/* each, more than it takes */
#define LEAD (3 * NSEC_PER_MSEC)	/* from the job's begin to the first expiry */
#define APART (10 * NSEC_PER_USEC)	/* from one expiry to the next */
#define JOB (20 * NSEC_PER_MSEC)

struct sleeper {
	sem_t go, ready, done;
	int64_t due;
};

static struct sleeper sleepers[MAX_COUNT];
static int busy_cpu;

static void wait_for(sem_t *semaphore)
{
	while (sem_wait(semaphore))
		;
}

static void *sleep_each_round(void *argument)
{
	struct sleeper *sleeper = argument;

	if (make(0, SLEEPERS_PRIORITY))
		return NULL;
	for (;;) {
		wait_for(&sleeper->go);
		/* The starter, which ranks below, is not woken before this one sleeps. */
		if (allow(busy_cpu, -1))
			return NULL;
		sem_post(&sleeper->ready);
		if (allow(busy_cpu, busy_cpu + 1))
			return NULL;
		sleep_until(sleeper->due);
		sem_post(&sleeper->done);
	}
}

static int start(int count)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	for (int i = 0; i < count; i++) {
		struct sleeper *sleeper = &sleepers[i];
		pthread_t thread;

		sem_init(&sleeper->go, 0, 0);
		sem_init(&sleeper->ready, 0, 0);
		sem_init(&sleeper->done, 0, 0);
		errno = pthread_create(&thread, &attributes, sleep_each_round, sleeper);
		if (errno)
			return failed("pthread_create");
	}
	usleep(100000);
	return 0;
}

/* Timers that all CPUs together have taken from others; 0 on a kernel without the shield */
static long taken_so_far(void)
{
	FILE *file = fopen("/proc/timershield", "re");
	long sum = 0, one;
	char line[256];

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%*u %*u %*u %*u %*u %*u %ld", &one) == 1)
			sum += one;
	fclose(file);
	return sum;
}

static int job(int64_t until)
{
	int ret;

	mark_job();
	ret = make(0, ABOVE_ALL);
	while (clock_ns() < until)
		;
	mark_end();
	return ret ? ret : make(0, STARTERS_PRIORITY);
}

static int one_round(int count)
{
	int64_t first = clock_ns() + LEAD + (count + 1) * TO_START;
	int ret;

	for (int i = 0; i < count; i++) {
		sleepers[i].due = first + i * APART;
		sem_post(&sleepers[i].go);
		wait_for(&sleepers[i].ready);
	}
	if (clock_ns() > first - LEAD) {
		errno = ETIME;
		return failed("starting to sleep");
	}
	sleep_until(first - LEAD);
	ret = job(first - LEAD + JOB);
	for (int i = 0; !ret && i < count; i++)
		wait_for(&sleepers[i].done);
	return ret;
}

int handover(const struct options *options, long *taken)
{
	int ret;

	busy_cpu = options->cpu;
	ret = start(options->count);
	if (!ret)
		ret = make(0, STARTERS_PRIORITY);
	for (int i = -options->warmup; !ret && i < options->repeats; i++) {
		if (!i) {
			*taken = -taken_so_far();
			recording();
		}
		ret = one_round(options->count);
	}
	recording();
	*taken += taken_so_far();
	return ret;
}
