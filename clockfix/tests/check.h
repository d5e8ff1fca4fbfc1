/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* check.h - tests that report in TAP, the Test Anything Protocol */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned int check_failed;	/* number of failed checks; the first ones are shown */
static const char *check_skipped;

/* A check that fails says so and lets the test go on. */
#define CHECK(cond)									\
	do {										\
		if (!(cond)) {								\
			if (check_failed++ < 5)						\
				printf("# %s:%d: failed: %s\n", __FILE__, __LINE__,	\
				       #cond);						\
		}									\
	} while (0)

#define CHECK_EQ(a, b)									\
	do {										\
		long long a_ = (long long)(a), b_ = (long long)(b);			\
		if (a_ != b_) {								\
			if (check_failed++ < 5)						\
				printf("# %s:%d: failed: %s == %s (%lld, %lld)\n",	\
				       __FILE__, __LINE__, #a, #b, a_, b_);		\
		}									\
	} while (0)

/* A block that a process of its own runs. It ends with whether a check has failed. */
#define CHILD(pid) for (pid = fork(); !pid; _exit(check_failed > 0))

/* the exit code of a child; -1: a signal killed it */
static inline int check_end_of(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* What this machine or these privileges do not allow is not tested, and said. */
#define SKIP(why)									\
	do {										\
		check_skipped = why;							\
		return;									\
	} while (0)

struct check_test {
	const char *name;
	void (*run)(void);
};

static inline int check_main(const struct check_test *tests, size_t count)
{
	bool any = false;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..%zu\n", count);
	for (size_t i = 0; i < count; i++) {
		check_failed = 0;
		check_skipped = NULL;
		tests[i].run();
		printf("%sok %zu - %s", check_failed ? "not " : "", i + 1, tests[i].name);
		if (check_skipped && !check_failed)
			printf(" # SKIP %s", check_skipped);
		printf("\n");
		any |= check_failed;
	}
	return any;
}

#define CHECK_MAIN(...)									\
	int main(void)									\
	{										\
		static const struct check_test tests[] = { __VA_ARGS__ };		\
											\
		return check_main(tests, sizeof(tests) / sizeof(*tests));		\
	}

#define TEST(name) { #name, name }

/* reproducible */
static inline uint64_t check_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif
