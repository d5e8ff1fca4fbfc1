// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "backend.h"
#include "cpushield.h"

#include <unistd.h>

bool backend_is_proc(void)
{
	return test_argument() == PROC_BACKEND;
}

const char *backend(void)
{
	return backend_is_proc() ? "proc" : "cgroup";
}

void prepare_backend(void)
{
	if (backend_is_proc() && access("/proc/shield/procs", F_OK))
		skip("this kernel has no /proc/shield");
	if (sysconf(_SC_NPROCESSORS_ONLN) < 3)
		skip("needs three CPUs");
	command_unshield("");
	set_affinity(0, cpus_online());
}

void command_shield(const char *words)
{
	check_status(timershield("shield --backend=%s %s", backend(), words), 0);
}

void command_unshield(const char *words)
{
	check_status(timershield("unshield %s", words), 0);
}
