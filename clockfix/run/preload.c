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
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <clockfix.h>

#include "stats.h"

#define NSEC_PER_SEC	1000000000LL

struct thread {
	struct clockfix_sleeper *sleeper;
	volatile bool busy;		/* a signal handler of this thread must not use it */
	struct thread *next, **prev;
};

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

static __thread struct thread *self;
static pthread_key_t at_exit;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;	/* for what follows */
static struct thread *threads;
static struct clockfix_histogram lateness;	/* of threads that have ended */
static uint64_t sleeps;

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

static void histogram_join(struct clockfix_histogram *to, const struct clockfix_histogram *from)
{
	for (int i = 0; i < CLOCKFIX_HISTOGRAM_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
	to->count += from->count;
	to->sum += from->sum;
	if (from->max > to->max)
		to->max = from->max;
}

/*
 * Add a thread's figures to those of threads that have ended. Under the mutex. @own: by that
 * thread itself; another one's last wait is left alone, as it may be using its sleeper.
 */
static void collect(const struct thread *thread, bool own)
{
	static struct clockfix_stats stats;	/* too much for the stack of a thread that ends */

	stats.size = sizeof(stats);
	if (!stats_wanted)
		return;
	if (!own)
		sleeper_stats_copy(thread->sleeper, &stats);
	else if (clockfix_sleeper_stats_read(thread->sleeper, &stats))
		return;
	histogram_join(&lateness, &stats.lateness);
	sleeps += stats.sleeps;
}

static void report(void)
{
	struct thread *thread;

	pthread_mutex_lock(&mutex);
	for (thread = threads; thread; thread = thread->next)
		collect(thread, thread == self);
	if (!lateness.count)
		dprintf(STDERR_FILENO,
			"clockfix-run: %s[%d]: no sleep was served, %llu passed on%s\n",
			program_invocation_short_name, getpid(), (unsigned long long)passed_on,
			passed_on ? ": of threads without real-time priority, or by other clocks" :
			"; what waits in futex, poll or timerfd does not sleep");
	else
		dprintf(STDERR_FILENO,
			"clockfix-run: %s[%d]: %llu waits, %llu slept, %llu passed on; "
			"late by ns: p50 %lld, p99 %lld, p99.9 %lld, max %lld\n",
			program_invocation_short_name, getpid(), (unsigned long long)lateness.count,
			(unsigned long long)sleeps, (unsigned long long)passed_on,
			(long long)clockfix_histogram_quantile(&lateness, 0.5),
			(long long)clockfix_histogram_quantile(&lateness, 0.99),
			(long long)clockfix_histogram_quantile(&lateness, 0.999),
			(long long)lateness.max);
	pthread_mutex_unlock(&mutex);
}

/* ---- threads ---------------------------------------------------------------------------- */

static void thread_free(struct thread *thread)
{
	clockfix_sleeper_destroy(thread->sleeper);
	free(thread);
}

static void thread_ended(void *arg)
{
	struct thread *thread = arg;

	self = NULL;
	pthread_mutex_lock(&mutex);
	collect(thread, true);
	*thread->prev = thread->next;
	if (thread->next)
		thread->next->prev = thread->prev;
	pthread_mutex_unlock(&mutex);
	thread_free(thread);
}

static struct thread *thread_create(void)
{
	struct thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		return NULL;
	if (clockfix_sleeper_create(&thread->sleeper, &options)) {
		free(thread);
		return NULL;
	}
	if (pthread_setspecific(at_exit, thread)) {
		thread_free(thread);
		return NULL;
	}
	pthread_mutex_lock(&mutex);
	thread->prev = &threads;
	thread->next = threads;
	if (threads)
		threads->prev = &thread->next;
	threads = thread;
	pthread_mutex_unlock(&mutex);
	self = thread;
	return thread;
}

/* A signal handler that sleeps while its thread makes or uses the sleeper gets the kernel's. */
static struct thread *thread_get(void)
{
	static __thread volatile bool creating;
	int cancel_state;

	if (self)
		return self->busy ? NULL : self;
	if (creating || !ready)
		return NULL;
	creating = true;
	/* it opens a file, half-way */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	thread_create();
	pthread_setcancelstate(cancel_state, NULL);
	creating = false;
	return self;
}

/*
 * The child has this thread only, and counts anew. What belonged to other threads is left alone:
 * one of them may have been changing it.
 */
static void fork_child(void)
{
	pthread_mutex_init(&mutex, NULL);
	threads = NULL;
	memset(&lateness, 0, sizeof(lateness));
	sleeps = 0;
	passed_on = 0;
	if (!self)
		return;
	pthread_setspecific(at_exit, NULL);
	if (!self->busy)
		thread_free(self);
	self = NULL;
}

/* ---- sleeping --------------------------------------------------------------------------- */

/* the instant by *@clock in ns, or -1: the C library has to deal with it */
static int64_t instant_of(clockid_t *clock, int flags, const struct timespec *request)
{
	int64_t instant;

	if ((flags && flags != TIMER_ABSTIME) || !request ||
	    (*clock != CLOCK_MONOTONIC && *clock != CLOCK_REALTIME && *clock != CLOCK_TAI) ||
	    request->tv_sec < 0 || request->tv_sec >= INT64_MAX / NSEC_PER_SEC / 2 ||
	    request->tv_nsec < 0 || request->tv_nsec >= NSEC_PER_SEC)
		return -1;
	instant = request->tv_sec * NSEC_PER_SEC + request->tv_nsec;
	if (flags)
		return instant;
	*clock = CLOCK_MONOTONIC;
	return instant + clockfix_now(CLOCK_MONOTONIC);
}

/* Another thread polls its share of the CPU away, and then waits for its next turn. */
static bool real_time(void)
{
	int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;

	return policy == SCHED_FIFO || policy == SCHED_RR || policy == SCHED_DEADLINE;
}

__attribute__((visibility("default")))
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *request,
		    struct timespec *remain)
{
	clockid_t by = clock;
	int64_t instant = instant_of(&by, flags, request), left;
	struct thread *thread = instant >= 0 && (all || real_time()) ? thread_get() : NULL;
	int ret;

	if (!thread) {
		passed_on++;
		return find_real()(clock, flags, request, remain);
	}
	/* clockfix_sleep_until() is one only where it sleeps */
	pthread_testcancel();
	thread->busy = true;
	ret = -clockfix_sleep_until(thread->sleeper, by, instant);
	thread->busy = false;
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
