/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs test cases, each in a process of its own, and counts. */
#ifndef RUNNER_H
#define RUNNER_H

struct test_case {
	const char *name;
	void (*run)(void);	/* returns, or abort()s with a message */
};

/**
 * run_tests - Run the cases and print "ok" or "FAILED" for each
 * @program:	the name of the program, for the summary
 * @cases:	ends with a case without a name
 *
 * Return: the exit status for main(): 0 if all passed, else 1.
 */
int run_tests(const char *program, const struct test_case *cases);

#endif /* RUNNER_H */
