// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * preload.c - clock_nanosleep(), nanosleep() and usleep() by a clockfix sleeper, for a program as it is
 *
 * clockfix-run puts this library before the C library. Each thread that sleeps gets a sleeper of its
 * own. For a length it sleeps until then by CLOCK_MONOTONIC, which no step of a clock moves.
 *
 * The library is linked with --wrap=clock_nanosleep, so that the sleeper's own sleeps do not
 * come back here.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <clockfix.h>
#include <platform.h>

typedef int sleep_fn(clockid_t, int, const struct timespec *, struct timespec *);

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *request,
		    struct timespec *remain);
int nanosleep(const struct timespec *request, struct timespec *remain);
int usleep(useconds_t us);
sleep_fn __wrap_clock_nanosleep;

static sleep_fn *real;
static struct clockfix_options options;
static bool stats_wanted;
static bool all;			/* threads without real-time priority, too */
static bool ready;

static __thread struct {
	struct clockfix_sleeper *sleeper;
	volatile bool busy;		/* a signal handler of this thread must not use it */
	int64_t late;			/* its last wait, until that is counted; or 0 */
} self;
static pthread_key_t at_exit;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;	/* for the next line */
static struct clockfix_histogram lateness;

static _Atomic uint64_t passed_on;

/* Another library's constructor may sleep before this one's has run. */
static sleep_fn *find_real(void)
{
	if (!real)
		real = (sleep_fn *)dlsym(RTLD_NEXT, "clock_nanosleep");
	return real;
}

int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *request,
			   struct timespec *remain)
{
	return real(clock, flags, request, remain);
}

/* ---- statistics ------------------------------------------------------------------------- */

/* Not at the end of the wait: that would make it end later. */
static void count(void)
{
	if (!self.late)
		return;
	pthread_mutex_lock(&mutex);
	clockfix_histogram_add(&lateness, self.late);
	pthread_mutex_unlock(&mutex);
	self.late = 0;
}

static void report(void)
{
	count();
	if (!lateness.count)
		dprintf(STDERR_FILENO,
			"clockfix-run: %s[%d]: no sleep was served, %llu passed on%s\n",
			program_invocation_short_name, getpid(), (unsigned long long)passed_on,
			passed_on ? ": of threads without real-time priority, or by other clocks" :
			"; what waits in futex, poll or timerfd does not sleep");
	else
		dprintf(STDERR_FILENO,
			"clockfix-run: %s[%d]: %llu served, %llu passed on; "
			"late by ns: p50 %lld, p99 %lld, p99.9 %lld, max %lld\n",
			program_invocation_short_name, getpid(), (unsigned long long)lateness.count,
			(unsigned long long)passed_on,
			(long long)clockfix_histogram_quantile(&lateness, 0.5),
			(long long)clockfix_histogram_quantile(&lateness, 0.99),
			(long long)clockfix_histogram_quantile(&lateness, 0.999),
			(long long)lateness.max);
}

/* ---- threads ---------------------------------------------------------------------------- */

static void thread_ended(void *sleeper)
{
	self.sleeper = NULL;
	count();
	clockfix_sleeper_destroy(sleeper);
}

/* A signal handler that sleeps while its thread makes or uses the sleeper gets the kernel's. */
static bool thread_has_sleeper(void)
{
	int cancel_state;

	if (self.busy || !ready)
		return false;
	if (self.sleeper)
		return true;
	self.busy = true;
	/* it opens a file, half-way */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	if (!clockfix_sleeper_create(&self.sleeper, &options) &&
	    pthread_setspecific(at_exit, self.sleeper))
		thread_ended(self.sleeper);
	pthread_setcancelstate(cancel_state, NULL);
	self.busy = false;
	return self.sleeper;
}

/* The child has this thread only, and counts anew. */
static void fork_child(void)
{
	pthread_mutex_init(&mutex, NULL);
	memset(&lateness, 0, sizeof(lateness));
	passed_on = 0;
	self.late = 0;
	pthread_setspecific(at_exit, NULL);
	if (!self.busy)
		clockfix_sleeper_destroy(self.sleeper);
	self.sleeper = NULL;
}

/* ---- sleeping --------------------------------------------------------------------------- */

/* the instant by *@clock in ns, or -1: the C library has to deal with it */
static int64_t instant_of(clockid_t *clock, int flags, const struct timespec *request)
{
	int64_t instant;

	if ((flags && flags != TIMER_ABSTIME) || !request ||
	    (*clock != CLOCK_MONOTONIC && *clock != CLOCK_REALTIME && *clock != CLOCK_TAI) ||
	    request->tv_sec < 0 || (int64_t)request->tv_sec >= INT64_MAX / NSEC_PER_SEC / 2 ||
	    request->tv_nsec < 0 || request->tv_nsec >= NSEC_PER_SEC)
		return -1;
	instant = request->tv_sec * NSEC_PER_SEC + request->tv_nsec;
	if (flags)
		return instant;
	*clock = CLOCK_MONOTONIC;
	return instant + clockfix_now(CLOCK_MONOTONIC);
}

__attribute__((visibility("default")))
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *request,
		    struct timespec *remain)
{
	clockid_t by = clock;
	int64_t instant = instant_of(&by, flags, request), left;
	int ret;

	/* without priority it polls its share of the CPU away, and then waits for its next turn */
	if (instant < 0 || (!all && !pf_realtime()) || !thread_has_sleeper()) {
		passed_on++;
		return find_real()(clock, flags, request, remain);
	}
	/* clockfix_sleep_until() is one only where it sleeps */
	pthread_testcancel();
	self.busy = true;
	count();
	ret = -clockfix_sleep_until(self.sleeper, by, instant);
	if (stats_wanted && !ret)
		self.late = clockfix_now(by) - instant;
	self.busy = false;
	if (ret == EINTR && !flags && remain) {
		left = instant - clockfix_now(CLOCK_MONOTONIC);
		left = left > 0 ? left : 0;
		*remain = (struct timespec){ left / NSEC_PER_SEC, left % NSEC_PER_SEC };
	}
	return ret;
}

__attribute__((visibility("default")))
int nanosleep(const struct timespec *request, struct timespec *remain)
{
	int ret = clock_nanosleep(CLOCK_REALTIME, 0, request, remain);

	if (!ret)
		return 0;
	errno = ret;
	return -1;
}

__attribute__((visibility("default")))
int usleep(useconds_t us)
{
	struct timespec length = { us / 1000000, us % 1000000 * 1000 };

	return nanosleep(&length, NULL);
}

/* ---- process ---------------------------------------------------------------------------- */

static uint32_t number(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : 0;
}

__attribute__((constructor)) static void setup(void)
{
	find_real();
	clockfix_options_init(&options);
	options.cpu_ppm = 10000 * number("CLOCKFIX_RUN_CPU");
	stats_wanted = getenv("CLOCKFIX_RUN_STATS");
	all = getenv("CLOCKFIX_RUN_ALL");
	ready = !pthread_key_create(&at_exit, thread_ended) &&
		!pthread_atfork(NULL, NULL, fork_child);
}

__attribute__((destructor)) static void teardown(void)
{
	if (stats_wanted)
		report();
}
