/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Test programs: each test runs in a process of its own, the results are printed as TAP once it
 * has ended (the console is silent while something is measured).
 *
 *	TEST(masks_nothing_on_idle)
 *	{
 *		... check(...);
 *	}
 *
 * Without a main() the program runs them all. PROGRAM --list prints the names; PROGRAM NAME...
 * runs these tests only.
 */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef unsigned long long u64;
typedef long long s64;

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define USEC 1000ull
#define MSEC 1000000ull
#define SEC 1000000000ull

/* Run tests without switching the shield on before each. */
#define TESTS_KEEP_SWITCH 1u

struct test {
	const char *name;
	void (*run)(void);
	unsigned int argument;
	int order;		/* in the program */
	struct test *next;
};

/* A test; its body follows. */
#define TEST(name)							\
	static void name(void);						\
	TEST_OF(name, name, 0)						\
	static void name(void)

/* A test of another name than the function; test_argument() tells it the value. */
#define TEST_OF(test_name, function, value)				\
	static struct test test_name##_test = {				\
		.name = #test_name, .run = function, .argument = value,	\
		.order = __COUNTER__,					\
	};								\
	static void __attribute__((constructor)) add_##test_name(void)	\
	{								\
		add_test(&test_name##_test);				\
	}

void add_test(struct test *test);

/* Runs all tests or those named on the command line; returns the exit status. */
int run_tests(int argc, char **argv, unsigned int flags);

/* After how long a test counts as hung: 120 s unless set. */
void set_test_timeout(unsigned int seconds);

/* The running test's .argument. */
unsigned int test_argument(void);

/* A comment line of the running test; printed when it has ended. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends the test: skipped, or failed. */
void skip(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* What a test has measured, the smallest first. */
void sort(u64 *samples, size_t count);

/* The test failed, but goes on. */
void fault(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define check(condition, ...)						\
	do {								\
		if (!(condition))					\
			fault(__VA_ARGS__);				\
	} while (0)

/* Notes what was measured; the test failed unless CONDITION. */
#define measured(condition, ...)					\
	do {								\
		note(__VA_ARGS__);					\
		check(condition, __VA_ARGS__);				\
	} while (0)

#define require(condition, ...)						\
	do {								\
		if (!(condition))					\
			fail(__VA_ARGS__);				\
	} while (0)

#endif
