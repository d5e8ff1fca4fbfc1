// SPDX-License-Identifier: GPL-2.0-or-later
/* Threads that sleep, and the counter of spare time. */
#include "loads.h"
#include "clock.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define STACK_SIZE (64 * 1024)
#define ROUNDS_OF_WORK 100

struct sleeper {
	struct loads *loads;
	struct load_task *task;
};

static void *sleeper(void *argument)
{
	struct sleeper *self = argument;
	struct load_task *task = self->task;
	const struct shared *shared = self->loads->shared;
	int64_t due;

	if (!task->unprivileged && task_become(task))
		exit(1);
	task_ready_and_wait(self->loads, 1);
	for (due = shared->zero + task->phase; due <= shared->stop; due += task->period) {
		int64_t woken;

		sleep_until(due);
		woken = clock_ns();
		for (int i = 0; i < ROUNDS_OF_WORK; i++)
			__asm__ volatile("" ::: "memory");
		task->early += woken < due;
		if (task->releases)
			task->releases[task->served] = (struct release){
				due - shared->zero, woken - due, clock_ns() - due,
			};
		task->served++;
	}
	/* What the kernel does for threads that exit is no load of timers: not before the end. */
	sleep_until(shared->stop);
	return NULL;
}

int sleepers_run(struct loads *loads, struct load_task *tasks, int count)
{
	pthread_t *threads = calloc(count, sizeof(*threads));
	struct sleeper *sleepers = calloc(count, sizeof(*sleepers));
	pthread_attr_t attributes;

	if (!threads || !sleepers)
		return 1;
	if (tasks->unprivileged && task_become(tasks))
		return 1;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	for (int i = 0; i < count; i++) {
		int error;

		sleepers[i] = (struct sleeper){ loads, &tasks[i] };
		error = pthread_create(&threads[i], &attributes, sleeper, &sleepers[i]);
		if (error) {
			fprintf(stderr, "%s: thread %d: %s\n", program_invocation_short_name, i, strerror(error));
			return 1;
		}
	}
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

int spare_run(struct loads *loads)
{
	struct load_task self = { .policy = SCHED_IDLE };
	struct shared *shared = loads->shared;
	uint64_t rounds = 0;

	if (task_become(&self))
		return 1;
	task_ready_and_wait(loads, 1);
	while (++rounds % 1024 || clock_ns() < shared->stop)
		atomic_store_explicit(&shared->spare, rounds, memory_order_relaxed);
	return 0;
}
