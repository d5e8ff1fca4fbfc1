// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * sleeper.c - what a program may expect of clock_nanosleep()
 *
 * Runs twice: as it is, which shows that the C library keeps to it, and by clockfix-run. There
 * the word "exact" has it also check that its sleeps are served.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "../../tests/check.h"

#define US	1000LL
#define MS	1000000LL
#define SEC	1000000000LL

static bool exact;

static int64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * SEC + ts.tv_nsec;
}

static struct timespec timespec_of(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / SEC, .tv_nsec = ns % SEC };
}

static int sleep_until(clockid_t clock, int64_t instant)
{
	struct timespec ts = timespec_of(instant);

	return clock_nanosleep(clock, TIMER_ABSTIME, &ts, NULL);
}

static void never_early(void)
{
	static const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_TAI,
					    CLOCK_BOOTTIME };
	static const int64_t lengths[] = { -SEC, 0, 100, 10 * US, 300 * US, 2 * MS, 15 * MS };

	for (size_t c = 0; c < sizeof(clocks) / sizeof(*clocks); c++) {
		for (size_t i = 0; i < 10 * sizeof(lengths) / sizeof(*lengths); i++) {
			int64_t instant = now(clocks[c]) + lengths[i / 10];

			CHECK_EQ(sleep_until(clocks[c], instant), 0);
			CHECK(now(clocks[c]) >= instant);
		}
	}
}

static void relative(void)
{
	struct timespec length = timespec_of(2 * MS), left;
	int64_t start = now(CLOCK_MONOTONIC);

	CHECK_EQ(clock_nanosleep(CLOCK_MONOTONIC, 0, &length, &left), 0);
	CHECK(now(CLOCK_MONOTONIC) - start >= 2 * MS);
	start = now(CLOCK_MONOTONIC);
	CHECK_EQ(nanosleep(&length, NULL), 0);
	CHECK_EQ(usleep(2000), 0);
	CHECK(now(CLOCK_MONOTONIC) - start >= 4 * MS);
	length.tv_nsec = SEC;
	CHECK(nanosleep(&length, NULL) == -1 && errno == EINVAL);
}

struct sleep {
	clockid_t clock;
	int flags;
};

static void *slack_after(void *arg)
{
	const struct sleep *sleep = arg;
	struct timespec ts = timespec_of(100 * US + (sleep->flags ? now(sleep->clock) : 0));

	if (sleep->clock < 0)
		nanosleep(&ts, NULL);
	else
		clock_nanosleep(sleep->clock, sleep->flags, &ts, NULL);
	return (void *)(intptr_t)prctl(PR_GET_TIMERSLACK);
}

/* A thread that was served has a timer slack of 1 ns. */
static void sleeps_are_served(void)
{
	static const struct sleep sleeps[] = {
		{ -1, 0 }, { CLOCK_MONOTONIC, 0 }, { CLOCK_MONOTONIC, TIMER_ABSTIME },
		{ CLOCK_REALTIME, TIMER_ABSTIME }, { CLOCK_TAI, TIMER_ABSTIME },
	};

	for (size_t i = 0; i < sizeof(sleeps) / sizeof(*sleeps); i++) {
		pthread_t thread;
		void *slack;

		pthread_create(&thread, NULL, slack_after, (void *)&sleeps[i]);
		pthread_join(thread, &slack);
		CHECK((slack == (void *)1) == exact);
	}
}

static void invalid(void)
{
	struct timespec ts = { .tv_sec = 0, .tv_nsec = SEC };

	CHECK_EQ(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL), EINVAL);
	ts = (struct timespec){ .tv_sec = -1 };
	CHECK_EQ(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL), EINVAL);
	ts = (struct timespec){ .tv_sec = 0 };
	CHECK_EQ(clock_nanosleep(4711, TIMER_ABSTIME, &ts, NULL), EINVAL);
	CHECK_EQ(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, TIMER_ABSTIME, &ts, NULL), EINVAL);
}

/* ---- signals ---------------------------------------------------------------------------- */

static volatile sig_atomic_t caught;
static volatile int64_t handler_sleep;
static volatile int handler_result;

static void handler(int sig)
{
	caught++;
	if (handler_sleep)
		handler_result = sleep_until(CLOCK_MONOTONIC,
					     now(CLOCK_MONOTONIC) + handler_sleep);
}

static void alarm_in(int64_t ns)
{
	struct itimerval timer = { .it_value = { .tv_sec = 0, .tv_usec = ns / US } };

	setitimer(ITIMER_REAL, &timer, NULL);
}

static void interrupted(clockid_t clock)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	int64_t start = now(clock);

	sigaction(SIGALRM, &action, NULL);
	caught = 0;
	alarm_in(20 * MS);
	/* not restarted, whatever SA_RESTART says */
	CHECK_EQ(sleep_until(clock, start + 20 * SEC), EINTR);
	CHECK_EQ(caught, 1);
	CHECK(now(clock) - start < 10 * SEC);
	/* and afterwards as before */
	CHECK_EQ(sleep_until(clock, now(clock) + MS), 0);
}

static void eintr(void)
{
	interrupted(CLOCK_MONOTONIC);
	interrupted(CLOCK_REALTIME);
}

static void sleep_in_handler(void)
{
	handler_sleep = 5 * MS;
	handler_result = -1;
	interrupted(CLOCK_MONOTONIC);
	CHECK_EQ(handler_result, 0);
	handler_sleep = 0;
}

/* ---- threads ---------------------------------------------------------------------------- */

static _Atomic int rounds;

/* Never sleeps: each instant has come. */
static void *busy_thread(void *arg)
{
	for (;;) {
		sleep_until(CLOCK_MONOTONIC, now(CLOCK_MONOTONIC) - 1);
		rounds++;
	}
	return NULL;
}

static void *long_thread(void *arg)
{
	rounds++;
	sleep_until(CLOCK_MONOTONIC, now(CLOCK_MONOTONIC) + 1000 * SEC);
	return NULL;
}

static void cancelled(void *(*run)(void *))
{
	pthread_t thread;
	void *result;

	rounds = 0;
	CHECK_EQ(pthread_create(&thread, NULL, run, NULL), 0);
	while (!rounds)
		usleep(1000);
	usleep(20000);
	CHECK_EQ(pthread_cancel(thread), 0);
	CHECK_EQ(pthread_join(thread, &result), 0);
	CHECK(result == PTHREAD_CANCELED);
}

static void cancellation(void)
{
	cancelled(busy_thread);
	cancelled(long_thread);
}

static void *loop_thread(void *arg)
{
	int64_t instant = now(CLOCK_MONOTONIC);

	for (int i = 0; i < 50; i++) {
		instant += 200 * US;
		CHECK_EQ(sleep_until(CLOCK_MONOTONIC, instant), 0);
		CHECK(now(CLOCK_MONOTONIC) >= instant);
	}
	return NULL;
}

/* ---- processes -------------------------------------------------------------------------- */

static atomic_bool sleeping, enough;

static void *until_enough(void *arg)
{
	do {
		loop_thread(NULL);
		atomic_store(&sleeping, true);
	} while (!atomic_load(&enough));
	return NULL;
}

static void forked(void)
{
	pthread_t thread;
	pid_t child;

	/*
	 * Next to a thread that uses its own sleeper. While one starts or ends it may hold locks of
	 * libasan (gcc 12), which a child would find taken for ever.
	 */
	CHECK_EQ(pthread_create(&thread, NULL, until_enough, NULL), 0);
	while (!atomic_load(&sleeping))
		sched_yield();
	for (int i = 0; i < 20; i++) {
		CHILD(child)
			loop_thread(NULL);
		CHECK_EQ(check_end_of(child), 0);
	}
	atomic_store(&enough, true);
	pthread_join(thread, NULL);
}

/* Sleeps of 10 us are polled, but the kernel ends who has real-time priority and polls that long. */
static void limit_on_real_time(void)
{
	const struct rlimit limit = { 200000, 200000 };
	const struct sched_param param = { .sched_priority = 10 };
	pid_t child;

	CHILD(child) {
		int64_t end = now(CLOCK_MONOTONIC) + SEC;

		if (sched_setscheduler(0, SCHED_FIFO, &param))
			break;
		setrlimit(RLIMIT_RTTIME, &limit);
		while (now(CLOCK_MONOTONIC) < end)
			CHECK_EQ(sleep_until(CLOCK_MONOTONIC, now(CLOCK_MONOTONIC) + 10 * US), 0);
	}
	CHECK_EQ(check_end_of(child), 0);
}

int main(int argc, char **argv)
{
	static const struct check_test tests[] = {
		TEST(never_early), TEST(relative), TEST(sleeps_are_served), TEST(invalid), TEST(eintr),
		TEST(sleep_in_handler), TEST(cancellation), TEST(forked), TEST(limit_on_real_time),
	};

	exact = !strcmp(argv[argc - 1], "exact");
	if (argc > 1 && !strcmp(argv[1], "short"))
		return check_main(tests, 1);
	return check_main(tests, sizeof(tests) / sizeof(*tests));
}
