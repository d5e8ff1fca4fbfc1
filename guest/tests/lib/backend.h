/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests of isolated CPUs, through the timershield command. */
#ifndef TESTS_BACKEND_H
#define TESTS_BACKEND_H

#include "command.h"
#include "snapshot.h"

/*
 * Skips the test if the machine has not three CPUs; ends any isolation; this process may
 * then run on all CPUs.
 */
void prepare_backend(void);

/* The same, with tasks whose affinity is not that of all; takes a snapshot. */
void prepare_tasks(struct snapshot *before);

/* Runs "timershield isolate WORDS"; the test fails if that does. */
void command_shield(const char *words);
void command_unshield(const char *words);

#endif
