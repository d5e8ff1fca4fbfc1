// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "backend.h"
#include "cpushield.h"

#include <unistd.h>

void prepare_backend(void)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 3)
		skip("needs three CPUs");
	command_unshield("");
	set_affinity(0, cpus_online());
}

void prepare_tasks(struct snapshot *before)
{
	prepare_backend();
	/* One that CPU 1 leaves, one beside it. */
	set_affinity(start_waiter(), CPU(1) | CPU(2));
	set_affinity(start_waiter(), CPU(0) | CPU(1));
	set_affinity(start_waiter(), CPU(0) | CPU(1) | CPU(2));
	snapshot_take(before);
}

void command_shield(const char *words)
{
	check_status(timershield("isolate %s", words), 0);
}

void command_unshield(const char *words)
{
	check_status(timershield("unisolate %s", words), 0);
}
