// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * test-faults.c - what happens to programs: stopped, forked, interrupted, cancelled, without
 * privileges
 *
 * Nothing here depends on how fast the machine is, only on what must never happen and on what
 * must have happened afterwards.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <clockfix.h>

#include "check.h"

/* the sanitizers replace mlock() by a function that does nothing */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MLOCK_IS_FAKE 1
#else
#define MLOCK_IS_FAKE 0
#endif

/* the thread sanitizer does not support them */
#ifdef __SANITIZE_THREAD__
#define THREADS_AFTER_FORK 0
#else
#define THREADS_AFTER_FORK 1
#endif

#define MS 1000000LL
#define SEC (1000 * MS)

static _Atomic int runs, early;
static _Atomic int64_t most_missed, last_instant;

static int64_t now(void)
{
	return clockfix_now(CLOCK_MONOTONIC);
}

static void nap(int64_t ns)
{
	struct timespec ts = { ns / SEC, ns % SEC };

	while (nanosleep(&ts, &ts))
		;
}

static void job(void *arg, const struct clockfix_run *run)
{
	(void)arg;
	if (clockfix_now(CLOCK_MONOTONIC) < run->instant)
		atomic_fetch_add(&early, 1);
	if ((int64_t)run->missed > atomic_load(&most_missed))
		atomic_store(&most_missed, run->missed);
	atomic_store(&last_instant, run->instant);
	atomic_fetch_add(&runs, 1);
}

static struct clockfix *create(void)
{
	struct clockfix *timer = NULL;

	atomic_store(&runs, 0);
	atomic_store(&early, 0);
	atomic_store(&most_missed, 0);
	CHECK_EQ(clockfix_create(&timer, NULL), 0);
	return timer;
}

static struct clockfix_stats *stats(struct clockfix *timer)
{
	static struct clockfix_stats s;

	s.size = sizeof(s);
	CHECK_EQ(clockfix_stats_read(timer, &s), 0);
	return &s;
}

/* SIGSTOP for 1.5 s, in a process of its own as it stops all threads */
static void stopped_child(int ready)
{
	struct clockfix *timer = create();
	struct clockfix_spec spec;

	clockfix_spec_init(&spec);
	spec.start = now() + 10 * MS;
	spec.period = MS;
	spec.runs = 2500;
	spec.missed = CLOCKFIX_MISSED_REPORT;
	spec.fn = job;
	CHECK_EQ(clockfix_schedule(timer, &spec, NULL), 0);
	for (int i = 0; i < 100; i++)
		CHECK_EQ(clockfix_submit(timer, now() + i * 20 * MS, job, NULL, NULL), 0);
	while (atomic_load(&runs) < 10)
		nap(MS);
	CHECK_EQ(write(ready, "", 1), 1);
	CHECK_EQ(clockfix_drain(timer), 0);
	CHECK_EQ(atomic_load(&early), 0);
	CHECK(atomic_load(&most_missed) > 1000);
	CHECK(stats(timer)->missed > 1000);
	CHECK_EQ(atomic_load(&runs), 2600 - (int)stats(timer)->missed);
	CHECK(stats(timer)->lateness.max > SEC);
	CHECK_EQ(clockfix_destroy(timer, 0), 0);
	_exit(check_failed > 0);
}

static void the_process_is_stopped(void)
{
	int ready[2], status;
	char byte;
	pid_t pid;

	CHECK_EQ(pipe(ready), 0);
	pid = fork();
	if (!pid)
		stopped_child(ready[1]);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	kill(pid, SIGSTOP);
	nap(1500 * MS);
	kill(pid, SIGCONT);
	waitpid(pid, &status, 0);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
}

static void a_child_has_no_worker(void)
{
	struct clockfix *timer = create();
	struct clockfix_sleeper *sleeper;
	pid_t pid;
	int status;

	CHECK_EQ(clockfix_sleeper_create(&sleeper, NULL), 0);
	CHECK_EQ(clockfix_submit(timer, now() + 100 * MS, job, NULL, NULL), 0);
	pid = fork();
	if (!pid) {
		struct clockfix_stats s = { .size = sizeof(s) };
		struct clockfix *own;

		CHECK_EQ(clockfix_submit(timer, now(), job, NULL, NULL), -ECHILD);
		CHECK_EQ(clockfix_cancel(timer, 1), -ECHILD);
		CHECK_EQ(clockfix_drain(timer), -ECHILD);
		CHECK_EQ(clockfix_stats_read(timer, &s), -ECHILD);
		CHECK_EQ(clockfix_destroy(timer, 0), 0);
		/* one of its own works, and so does a sleeper */
		if (THREADS_AFTER_FORK) {
			CHECK_EQ(clockfix_create(&own, NULL), 0);
			CHECK_EQ(clockfix_submit(own, now(), job, NULL, NULL), 0);
			CHECK_EQ(clockfix_destroy(own, 0), 0);
			CHECK_EQ(atomic_load(&runs), 1);
		}
		CHECK_EQ(clockfix_sleep_until(sleeper, CLOCK_MONOTONIC, now() + MS), 0);
		clockfix_sleeper_destroy(sleeper);
		_exit(check_failed > 0);
	}
	waitpid(pid, &status, 0);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	CHECK_EQ(clockfix_drain(timer), 0);
	CHECK_EQ(atomic_load(&runs), 1);
	clockfix_sleeper_destroy(sleeper);
	CHECK_EQ(clockfix_destroy(timer, 0), 0);
}

static _Atomic int signals;
static pthread_t signal_thread;

static void on_signal(int sig)
{
	(void)sig;
	signal_thread = pthread_self();
	atomic_fetch_add(&signals, 1);
}

static void signals_do_not_reach_the_worker(void)
{
	struct sigaction action = { .sa_handler = on_signal }, old;
	struct clockfix *timer = create();

	sigaction(SIGUSR1, &action, &old);
	CHECK_EQ(clockfix_submit(timer, now() + 100 * MS, job, NULL, NULL), 0);
	for (int i = 0; i < 20; i++) {
		kill(getpid(), SIGUSR1);
		nap(MS);
	}
	CHECK(atomic_load(&signals) > 0);
	CHECK(pthread_equal(signal_thread, pthread_self()));
	CHECK_EQ(clockfix_drain(timer), 0);
	CHECK_EQ(atomic_load(&runs), 1);
	CHECK_EQ(stats(timer)->disturbed, 0);
	CHECK_EQ(clockfix_destroy(timer, 0), 0);
	sigaction(SIGUSR1, &old, NULL);
}

static void *submit_until_cancelled(void *arg)
{
	for (;;) {
		clockfix_job handle;

		clockfix_submit(arg, now() + SEC, job, NULL, &handle);
		clockfix_cancel(arg, handle);
		pthread_testcancel();
	}
	return NULL;
}

static void a_submitter_is_cancelled(void)
{
	struct clockfix *timer = create();
	pthread_t thread;

	for (int i = 0; i < 20; i++) {
		pthread_create(&thread, NULL, submit_until_cancelled, timer);
		nap(2 * MS);
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		/* nobody holds the mutex */
		CHECK_EQ(clockfix_submit(timer, now(), job, NULL, NULL), 0);
	}
	CHECK_EQ(clockfix_drain(timer), 0);
	CHECK_EQ(atomic_load(&runs), 20);
	CHECK_EQ(clockfix_destroy(timer, 0), 0);
}

static void slow(void *arg, const struct clockfix_run *run)
{
	(void)run;
	atomic_store((_Atomic int *)arg, 1);
	nap(100 * MS);
	atomic_store((_Atomic int *)arg, 2);
}

struct waiting {
	struct clockfix *timer;
	clockfix_job job;
	_Atomic int result;
};

static void *cancel_and_wait(void *arg)
{
	struct waiting *waiting = arg;

	atomic_store(&waiting->result, clockfix_cancel_wait(waiting->timer, waiting->job));
	pthread_testcancel();
	return NULL;
}

static void cancel_wait_waits_and_is_no_cancellation_point(void)
{
	struct waiting waiting = { .timer = create(), .result = -1 };
	static _Atomic int phase;
	pthread_t thread;
	void *status;

	CHECK_EQ(clockfix_submit(waiting.timer, now(), slow, (void *)&phase, &waiting.job), 0);
	while (!atomic_load(&phase))
		nap(MS);
	CHECK_EQ(clockfix_cancel(waiting.timer, waiting.job), -EINPROGRESS);
	pthread_create(&thread, NULL, cancel_and_wait, &waiting);
	pthread_cancel(thread);
	pthread_join(thread, &status);
	CHECK(status == PTHREAD_CANCELED);
	CHECK_EQ(atomic_load(&phase), 2);
	CHECK_EQ(waiting.result, 1);
	CHECK_EQ(clockfix_cancel_wait(waiting.timer, waiting.job), -ENOENT);
	CHECK_EQ(clockfix_destroy(waiting.timer, 0), 0);
}

/* An ordinary user gets a timer that works, and is told what it lacks. */
static void unprivileged_child(void)
{
	struct rlimit none = { 0, 0 };
	struct clockfix_capabilities caps = { .size = sizeof(caps) };
	struct clockfix_options options;
	struct clockfix *timer;

	setrlimit(RLIMIT_RTPRIO, &none);
	setrlimit(RLIMIT_MEMLOCK, &none);
	if (setgid(65534) || setuid(65534))
		_exit(77);
	clockfix_options_init(&options);
	options.cpu = 0;
	options.policy = SCHED_FIFO;
	options.priority = 50;
	options.cpu_latency_us = 0;
	options.flags = CLOCKFIX_LOCK_MEMORY;
	CHECK_EQ(clockfix_create(&timer, &options), 0);
	CHECK_EQ(clockfix_capabilities_read(timer, &caps), 0);
	CHECK_EQ(caps.affinity, 0);
	CHECK_EQ(caps.scheduling, -EPERM);
	if (!MLOCK_IS_FAKE)
		CHECK(caps.memory == -EPERM || caps.memory == -ENOMEM);
	/* a container may have no such device */
	CHECK(caps.cpu_latency == -EACCES || caps.cpu_latency == -ENOENT);
	CHECK_EQ(caps.timer_slack, 0);
	CHECK_EQ(clockfix_submit(timer, now(), job, NULL, NULL), 0);
	CHECK_EQ(clockfix_destroy(timer, 0), 0);
	CHECK_EQ(atomic_load(&runs), 1);
	options.flags |= CLOCKFIX_STRICT;
	CHECK_EQ(clockfix_create(&timer, &options), -EPERM);
	_exit(check_failed > 0);
}

static void without_privileges(void)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		unprivileged_child();
	waitpid(pid, &status, 0);
	CHECK(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		SKIP("not root: can't become somebody else");
	CHECK_EQ(WEXITSTATUS(status), 0);
}

static void options_take_effect(void)
{
	struct clockfix_capabilities caps = { .size = sizeof(caps) };
	struct clockfix_options options;
	struct clockfix *timer;

	clockfix_options_init(&options);
	options.cpu = 0;
	options.policy = SCHED_FIFO;
	options.priority = 50;
	options.flags = CLOCKFIX_LOCK_MEMORY | CLOCKFIX_STRICT;
	if (clockfix_create(&timer, &options))
		SKIP("no privilege for SCHED_FIFO or locked memory");
	CHECK_EQ(clockfix_capabilities_read(timer, &caps), 0);
	CHECK_EQ(caps.affinity, 0);
	CHECK_EQ(caps.scheduling, 0);
	CHECK_EQ(caps.memory, 0);
	CHECK_EQ(caps.cpu_latency, CLOCKFIX_NOT_ASKED);
	CHECK_EQ(clockfix_destroy(timer, 0), 0);
	options.cpu = 1023;
	CHECK_EQ(clockfix_create(&timer, &options), -EINVAL);
}

CHECK_MAIN(TEST(the_process_is_stopped), TEST(a_child_has_no_worker),
	   TEST(signals_do_not_reach_the_worker), TEST(a_submitter_is_cancelled),
	   TEST(cancel_wait_waits_and_is_no_cancellation_point), TEST(without_privileges),
	   TEST(options_take_effect))
