// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The loop of prove next to a real-time task that never sleeps: an ordinary task that
 * is pinned to its CPU gets no time. The C library's calls are replaced: one that would never
 * return fails the test.
 */
#include "check.h"
#include "loop/control_loop.h"

#include <errno.h>
#include <sched.h>

#define INSTEAD __attribute__((visibility("default")))	/* of the C library's */

static __thread bool realtime, pinned;

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
	if (!CPU_ISSET(9, set))
		return 0;
	pinned = false;
	errno = EINVAL;
	return -1;
}

static void prove_gets_its_time(void)
{
	struct control_loop loop = { .cpu = 1 };

	check(!control_loop_enter(&loop) && realtime && pinned, "it is not there");
	control_loop_leave();
	check(realtime && !pinned, "it is still there, or an ordinary task");
	loop.cpu = 9;
	check(control_loop_enter(&loop) == -EINVAL && realtime && !pinned, "no such CPU");
}

int main(void)
{
	prove_gets_its_time();
	return 0;
}
