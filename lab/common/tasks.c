// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "tasks.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

int failed(const char *what)
{
	int error = errno ? errno : EIO;

	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(error));
	return -error;
}

int task_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (!sched_setaffinity(0, sizeof(set), &set))
		return 0;
	return failed("sched_setaffinity");
}

int task_fifo(pid_t pid, int priority)
{
	struct sched_param param = { .sched_priority = priority };

	if (!sched_setscheduler(pid, priority ? SCHED_FIFO : SCHED_OTHER, &param))
		return 0;
	return failed("sched_setscheduler (run it as root)");
}
