// SPDX-License-Identifier: GPL-2.0-or-later
/* The tasks of a load, and two that wake each other. */
#include "price.h"
#include "clock.h"
#include "loads.h"
#include "tasks.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEAD (40 * NSEC_PER_MSEC)
#define WARMUP (100 * NSEC_PER_MSEC)
#define ROUNDS 5000

static void start(struct loads *loads, const struct row *row)
{
	loads->span = WARMUP + NSEC_PER_SEC;
	loads->seed = 1;
	must(!loads_plan(loads) && !loads_add(loads, row->load) && !loads_start(loads) &&
	     !loads_wait_ready(loads), row->load);
}

/* A second of the load. */
static void run(struct loads *loads, const struct row *row)
{
	int64_t zero = loads_zero(LEAD);
	uint64_t interrupts;
	uint64_t rounds;

	loads_go(loads, zero, zero + loads->span);
	must(!task_fifo(0, 99), "priority");
	sleep_until(zero + WARMUP);
	interrupts = timer_interrupts();
	rounds = loads->shared->spare;
	sleep_until(zero + WARMUP + NSEC_PER_SEC);
	found(row, "interrupts", timer_interrupts() - interrupts, 1);
	if (loads->spare)
		found(row, "rounds", loads->shared->spare - rounds, 1);
	must(!task_fifo(0, 0) && !loads_finish(loads), row->load);
}

void spare(const struct row *row)
{
	struct loads loads = { .spare = true };
	int64_t *samples;
	int count = 0;

	start(&loads, row);
	run(&loads, row);
	for (int i = 0; i < loads.task_count; i++)
		count += loads.tasks[i].served;
	samples = calloc(count, sizeof(*samples));
	count = 0;
	for (int i = 0; i < loads.task_count; i++)
		for (int k = 0; k < loads.tasks[i].served; k++)
			samples[count++] = loads.tasks[i].releases[k].lateness;
	found_samples(row, samples, count);
	free(samples);
	loads_end(&loads);
}

void synchronized(const struct row *row)
{
	struct loads loads = { 0 };
	int64_t *last;
	int instants;

	start(&loads, row);
	run(&loads, row);
	instants = loads.tasks[0].expected;
	last = calloc(instants, sizeof(*last));
	for (int i = 0; i < loads.task_count; i++)
		for (int k = 0; k < instants; k++)
			if (loads.tasks[i].releases[k].response > last[k])
				last[k] = loads.tasks[i].releases[k].response;
	found_samples(row, last, instants);
	free(last);
	loads_end(&loads);
}

void pair(const struct row *row)
{
	static int64_t samples[ROUNDS];
	int there[2], back[2];
	char byte = 0;
	pid_t pid;

	must(!pipe(there) && !pipe(back), "pipe");
	pid = fork();
	must(pid >= 0, "fork");
	if (!pid) {
		close(there[1]);
		must(!task_fifo(0, row->priority[1]), "priority");
		while (read(there[0], &byte, 1) == 1)
			must(write(back[1], &byte, 1) == 1, "write");
		_exit(0);
	}
	must(!task_fifo(0, row->priority[0]), "priority");
	for (int i = -100; i < ROUNDS; i++) {
		int64_t begin = clock_ns();

		must(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1, "byte");
		if (i >= 0)
			samples[i] = clock_ns() - begin;
	}
	must(!task_fifo(0, 0), "priority");
	for (int i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
	waitpid(pid, NULL, 0);
	found_samples(row, samples, ROUNDS);
}
