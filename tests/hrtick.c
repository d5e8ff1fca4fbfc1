// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rule R3, the one timer of the scheduler that is masked: the hrtick of an ordinary task, which
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

#define JOBS 200
#define WORK (300 * USEC)
/* For a task that becomes real-time: each lasts longer than the turn of an ordinary one */
#define LONG_JOBS 20
#define LONG_WORK (4 * MSEC)
/* A job may begin or end within a tick, which then is not seen as one. */
#define EDGES 2

static void open_window(struct window *window)
{
	/* Once for nothing: no page fault later. */
	window_spin(window, now() + WORK);
	window_open(window);
	window_go_on(window, now() + WORK);
}

static void run_loop(struct window *window)
{
	u64 start;

	open_window(window);
	start = now() + MSEC;
	for (unsigned int job = 0; job < JOBS; job++) {
		sleep_until(start + job * test_argument() * USEC);
		window_go_on(window, now() + WORK);
	}
}

/* An ordinary task that becomes real-time in its turn, whose end is set already */
static void rise(struct window *window)
{
	become(FIFO(99));
	open_window(window);
	for (unsigned int job = 0; job < LONG_JOBS; job++) {
		become(OTHER);
		sleep_for(MSEC);
		become(FIFO(99));
		window_go_on(window, now() + LONG_WORK);
	}
}

/* What is neither a tick nor a part of one */
static unsigned int interruptions(const struct window *window)
{
	unsigned int seen = window->gaps > window->ticks ? window->gaps - window->ticks : 0;
	unsigned int traced = window->interrupts - window->ticks;

	return seen > traced ? seen : traced;
}

static unsigned int play(unsigned int hogs, void (*function)(struct window *window))
{
	struct window *window = shared_memory(sizeof(*window));
	pid_t pids[2];

	pin(test_cpu);
	become(FIFO(98));
	window_prepare();
	for (unsigned int i = 0; i < hogs; i++) {
		STARTED(OTHER) {
			for (;;)
				let_other_cpus_run(now());
		}
		pids[i] = newest;
	}
	STARTED(FIFO(99)) function(window);
	become(OTHER);
	await_exit(newest);
	for (unsigned int i = 0; i < hogs; i++)
		end_process(pids[i]);
	window_read(window);
	note("%u hogs: %u interruptions, %u with a tick", hogs, interruptions(window),
	     window->ticks);
	return interruptions(window);
}

static void check_loop(void (*function)(struct window *window))
{
	unsigned int off;

	shield_set(false);
	check(play(0, function) <= EDGES, "interrupted without hogs");
	off = play(2, function);
	shield_set(true);
	check(play(2, function) <= EDGES, "interrupted");
	if (off <= EDGES)
		skip("the hrtick of an ordinary task is cancelled when another task runs");
}

static void computing_tasks_do_not_interrupt(void)
{
	check_loop(run_loop);
}

TEST_OF(computing_tasks_do_not_interrupt, computing_tasks_do_not_interrupt, 1000)
/* Its jobs meet ticks. */
TEST_OF(computing_tasks_add_nothing_to_the_tick, computing_tasks_do_not_interrupt, 1037)

TEST(a_task_that_becomes_real_time_is_not_interrupted)
{
	if (kernel_is_rt())
		skip("on PREEMPT_RT half of the jobs are interrupted, with the shield off all");
	check_loop(rise);
}
