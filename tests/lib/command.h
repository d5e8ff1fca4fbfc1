/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The timershield command, run as anybody would. */
#ifndef TESTS_COMMAND_H
#define TESTS_COMMAND_H

#include "tap.h"

#include <sys/types.h>

/* Words at most, and bytes that are kept of what a command prints. */
#define COMMAND_WORDS 32
#define COMMAND_OUTPUT (1 << 16)

struct command_result {
	int status;			/* exit status, or 128 + signal */
	char out[COMMAND_OUTPUT];	/* standard output */
	char err[COMMAND_OUTPUT];	/* standard error */
};

/* Runs "timershield WORDS", separated by single blanks, and waits for its end. */
#define timershield(...) timershield_run(false, __VA_ARGS__)

/* The same by user 65534, without any privilege. */
#define timershield_as_nobody(...) timershield_run(true, __VA_ARGS__)

const struct command_result *timershield_run(bool nobody, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Starts it and does not wait; its output is thrown away. */
pid_t timershield_start(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The test fails unless RESULT has that status; shows what the command said. */
void check_status(const struct command_result *result, int status);

#endif
