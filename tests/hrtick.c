// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rule R3, the one timer of the scheduler that has a level: the hrtick of an ordinary task, which
 * ends its turn, does not interrupt a real-time one. A FIFO-99 loop runs next to two ordinary tasks
 * that do nothing but compute.
 *
 * On Linux 7.3 without that rule the hrtick that was set for an ordinary task interrupts one job
 * in four. Linux 6.12 cancels it at each switch: there nothing is seen with the shield off either,
 * which is why this is skipped on stock kernels.
 */
#define _GNU_SOURCE
#include "lib/shield.h"
#include "lib/task.h"
#include "lib/window.h"

#include <sys/wait.h>

#define JOBS 200
#define WORK (300 * USEC)
/* A job may begin or end within a tick, which then is not seen as one. */
#define EDGES 2

static void compute(void *unused)
{
	for (;;)
		let_other_cpus_run(now());
}

struct loop {
	u64 period;
	struct window window;
};

static void run_loop(void *argument)
{
	struct loop *loop = argument;
	u64 start;

	/* Once for nothing: no page fault later. */
	window_spin(&loop->window, now() + WORK);
	window_open(&loop->window);
	window_go_on(&loop->window, now() + WORK);
	start = now() + MSEC;
	for (unsigned int job = 0; job < JOBS; job++) {
		sleep_until(start + job * loop->period);
		window_go_on(&loop->window, now() + WORK);
	}
}

/* What is neither a tick nor a part of one */
static unsigned int interruptions(const struct window *window)
{
	unsigned int seen = window->gaps > window->ticks ? window->gaps - window->ticks : 0;
	unsigned int traced = window->interrupts - window->ticks;

	return seen > traced ? seen : traced;
}

static unsigned int play(unsigned int hogs, u64 period)
{
	struct loop *loop = shared_memory(sizeof(*loop));
	pid_t pids[2], pid;

	loop->period = period;
	pin(test_cpu);
	become(FIFO(98));
	window_prepare();
	for (unsigned int i = 0; i < hogs; i++)
		pids[i] = spawn(OTHER, test_cpu, compute, NULL);
	pid = spawn(FIFO(99), test_cpu, run_loop, loop);
	become(OTHER);
	waitpid(pid, NULL, 0);
	for (unsigned int i = 0; i < hogs; i++)
		end_process(pids[i]);
	window_read(&loop->window);
	note("%u hogs: %u interruptions of %u jobs, %u with a tick", hogs,
	     interruptions(&loop->window), JOBS, loop->window.ticks);
	return interruptions(&loop->window);
}

static void check_loop(u64 period)
{
	unsigned int off;

	shield_set(false);
	check(play(0, period) <= EDGES, "interrupted without hogs");
	off = play(2, period);
	shield_set(true);
	check(play(2, period) <= EDGES, "interrupted");
	if (off <= EDGES)
		skip("the hrtick of an ordinary task is cancelled when another task runs");
}

static void computing_tasks_do_not_interrupt(void)
{
	check_loop(test_argument() * USEC);
}

TEST_OF(computing_tasks_do_not_interrupt, computing_tasks_do_not_interrupt, 1000)
/* Its jobs meet ticks. */
TEST_OF(computing_tasks_add_nothing_to_the_tick, computing_tasks_do_not_interrupt, 1037)
