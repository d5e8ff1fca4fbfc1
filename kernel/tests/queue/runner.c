// SPDX-License-Identifier: GPL-2.0-only

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner.h"

static int passes(const struct test_case *test)
{
	pid_t child;
	int status;

	fflush(NULL);
	child = fork();
	if (child < 0) {
		perror("fork");
		exit(2);
	}
	if (!child) {
		test->run();
		/* Not _exit(): the leak checker runs at exit. */
		exit(0);
	}
	if (waitpid(child, &status, 0) < 0) {
		perror("waitpid");
		exit(2);
	}
	if (WIFSIGNALED(status))
		fprintf(stderr, "%s: %s\n", test->name, strsignal(WTERMSIG(status)));
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

int run_tests(const char *program, const struct test_case *cases)
{
	unsigned int passed = 0, failed = 0;

	for (; cases->name; cases++) {
		if (passes(cases)) {
			passed++;
			printf("ok     %s: %s\n", program, cases->name);
		} else {
			failed++;
			printf("FAILED %s: %s\n", program, cases->name);
		}
	}
	printf("%s: %u passed, %u failed\n", program, passed, failed);
	return failed ? 1 : 0;
}
