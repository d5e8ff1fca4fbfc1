/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests of shielded CPUs that run once for each way of shielding them. */
#ifndef TESTS_BACKEND_H
#define TESTS_BACKEND_H

#include "command.h"

enum { PROC_BACKEND, CGROUP_BACKEND };

#define BOTH_BACKENDS(function)						\
	{ "proc_" #function, function, PROC_BACKEND },			\
	{ "cgroup_" #function, function, CGROUP_BACKEND }

/* The running test's backend, as --backend takes it. */
const char *backend(void);
bool backend_is_proc(void);

/*
 * Skips the test if this kernel has not the backend, or the machine has not three CPUs;
 * removes any shield; this process may then run on all CPUs.
 */
void prepare_backend(void);

/* Runs "timershield shield --backend=... WORDS"; the test fails if that does. */
void command_shield(const char *words);
void command_unshield(const char *words);

#endif
