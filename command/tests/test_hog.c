// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The loops of prove and measure next to a real-time task that never sleeps: an ordinary task that
 * is pinned to its CPU gets no time. The C library's calls are replaced: one that would never
 * return fails the test, or waits.
 */
#include "blame/session.h"
#include "check.h"
#include "loop/control_loop.h"
#include "measure/loop.h"

#include <pthread.h>
#include <sched.h>

#define INSTEAD __attribute__((visibility("default")))	/* of the C library's */

static __thread bool realtime, pinned;
static atomic_bool outranked, rescued;

INSTEAD int sched_setscheduler(pid_t tid, int policy, const struct sched_param *parameter)
{
	realtime = policy != SCHED_OTHER;
	check(realtime || !pinned, "it becomes ordinary there");
	return 0;
}

INSTEAD int sched_getaffinity(pid_t tid, size_t size, cpu_set_t *set)
{
	CPU_ZERO_S(size, set);
	CPU_SET(0, set);
	CPU_SET(1, set);
	return 0;
}

INSTEAD int sched_setaffinity(pid_t tid, size_t size, const cpu_set_t *set)
{
	pinned = CPU_COUNT_S(size, set) == 1;
	check(realtime || !pinned, "it goes there as an ordinary task");
	while (pinned && outranked && !rescued)
		usleep(1000);
	if (!CPU_ISSET(9, set))
		return 0;
	pinned = false;
	errno = EINVAL;
	return -1;
}

INSTEAD int pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set)
{
	rescued = CPU_COUNT_S(size, set) > 1;
	return 0;
}

static void prove_gets_its_time(void)
{
	struct control_loop loop = { .cpu = 1 };

	check(!control_loop_enter(&loop) && realtime && pinned, "it is not there");
	control_loop_leave();
	check(!realtime && !pinned, "it is still there");
	loop.cpu = 9;
	check(control_loop_enter(&loop) == -EINVAL && !realtime, "no such CPU");
}

static void measure_gets_its_time(void)
{
	static struct loop loop = { .cpu = 1, .priority = 80, .interval = 1000000 };

	check(!loop_start(&loop), "it does not start");
	loop_join(&loop);
}

/* The task that never sleeps is above the loop, so that Ctrl-C alone ends it. */
static void measure_ends(void)
{
	static struct loop loop = { .cpu = 1, .priority = 80, .interval = 1000000 };

	outranked = true;
	rescued = false;
	session_interrupted = 1;
	alarm(30);
	check(loop_start(&loop) == -EINTR, "it started");
	loop_join(&loop);
}

int main(void)
{
	prove_gets_its_time();
	measure_gets_its_time();
	measure_ends();
	return 0;
}
