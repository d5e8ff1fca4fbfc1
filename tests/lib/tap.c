// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "tap.h"
#include "mode.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PASSED, FAILED, SKIPPED = 4 };

static unsigned int test_timeout = 120;	/* s */
static struct test *tests;

/* Shared by a test and all its processes; printed when the test has ended. */
static struct {
	unsigned int faults;
	unsigned int argument;
	size_t used;
	char text[1 << 16];
} *report;

static void append(const char *prefix, const char *format, va_list args)
{
	char line[512];
	int n = snprintf(line, sizeof(line), "# %s", prefix);
	size_t at;

	n += vsnprintf(line + n, sizeof(line) - n, format, args);
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	at = __atomic_fetch_add(&report->used, n, __ATOMIC_RELAXED);
	if (at + n <= sizeof(report->text))
		memcpy(report->text + at, line, n);
}

void note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	append("", format, args);
	va_end(args);
}

void fault(const char *format, ...)
{
	va_list args;

	__atomic_fetch_add(&report->faults, 1, __ATOMIC_RELAXED);
	va_start(args, format);
	append("failed: ", format, args);
	va_end(args);
}

void fail(const char *format, ...)
{
	va_list args;

	__atomic_fetch_add(&report->faults, 1, __ATOMIC_RELAXED);
	va_start(args, format);
	append("failed: ", format, args);
	va_end(args);
	_exit(FAILED);
}

static int by_size(const void *a, const void *b)
{
	u64 first = *(const u64 *)a, second = *(const u64 *)b;

	return first < second ? -1 : first > second;
}

void sort(u64 *samples, size_t count)
{
	qsort(samples, count, sizeof(*samples), by_size);
}

void skip(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	append("SKIP ", format, args);
	va_end(args);
	_exit(SKIPPED);
}

void set_test_timeout(unsigned int seconds)
{
	test_timeout = seconds;
}

unsigned int test_argument(void)
{
	return report->argument;
}

void add_test(struct test *test)
{
	struct test **at = &tests;

	while (*at && (*at)->order <= test->order)
		at = &(*at)->next;
	test->next = *at;
	*at = test;
}

static void run_in_child(const struct test *test, unsigned int flags)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_TIMERSLACK, 1);
	if (!(flags & TESTS_KEEP_SWITCH) && mode_switch_on())
		fail(SHIELD_SWITCH ": cannot switch it on");
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		fail("mlockall: %s (run as root)", strerror(errno));
	test->run();
	_exit(PASSED);
}

static int wait_for_child(pid_t pid)
{
	struct timespec limit = { .tv_sec = test_timeout };
	int status;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (sigtimedwait(&set, NULL, &limit) < 0 && errno == EAGAIN) {
			fault("not finished within %u s", test_timeout);
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			break;
		}
	}
	kill(-pid, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
	return status;
}

static int run_test(const struct test *test, unsigned int flags)
{
	int status;
	pid_t pid;

	memset(report, 0, sizeof(*report));
	report->argument = test->argument;
	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		fault("fork: %m");
		return FAILED;
	}
	if (!pid)
		run_in_child(test, flags);
	status = wait_for_child(pid);
	if (WIFSIGNALED(status))
		fault("killed by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status) == SKIPPED && !report->faults)
		return SKIPPED;
	return report->faults ? FAILED : PASSED;
}

static void print_result(unsigned int number, const struct test *test, int result)
{
	size_t used = report->used;
	const char *why = strstr(report->text, "# SKIP ");

	if (result == SKIPPED && why)
		printf("ok %u - %s %.*s\n", number, test->name,
		       (int)strcspn(why, "\n"), why);
	else
		printf("%s %u - %s\n", result == FAILED ? "not ok" : "ok", number,
		       test->name);
	if (used > sizeof(report->text))
		used = sizeof(report->text);
	if (result != SKIPPED)
		fwrite(report->text, 1, used, stdout);
	fflush(stdout);
}

static bool wanted(int argc, char **argv, const char *name)
{
	if (argc < 2)
		return true;
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return false;
}

static int check_names(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const struct test *test = tests;

		while (test && strcmp(argv[i], test->name))
			test = test->next;
		if (!test) {
			fprintf(stderr, "%s: no test '%s'; --list names them\n",
				argv[0], argv[i]);
			return -ENOENT;
		}
	}
	return 0;
}

int run_tests(int argc, char **argv, unsigned int flags)
{
	unsigned int planned = 0, number = 0, failed = 0, skipped = 0;
	/* A suite that is only to fail need not go on. */
	bool one = argc > 1 && !strcmp(argv[1], "--one-failure");
	const struct test *test;
	sigset_t set;

	argc -= one;
	argv += one;

	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (test = tests; test; test = test->next)
			printf("%s\n", test->name);
		return 0;
	}
	if (check_names(argc, argv))
		return 2;
	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (report == MAP_FAILED) {
		perror("mmap");
		return 2;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (test = tests; test; test = test->next)
		planned += wanted(argc, argv, test->name);
	printf("TAP version 13\n");
	if (!one)
		printf("1..%u\n", planned);
	for (test = tests; test; test = test->next) {
		int result;

		if (!wanted(argc, argv, test->name) || (one && failed))
			continue;
		result = run_test(test, flags);
		print_result(++number, test, result);
		failed += result == FAILED;
		skipped += result == SKIPPED;
	}
	if (failed)
		return 1;
	return skipped == planned ? 4 : 0;
}

int __attribute__((weak)) main(int argc, char **argv)
{
	return run_tests(argc, argv, 0);
}
