// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes with timers that notify: timerfds, POSIX timers, interval timers.
 * Each expiry must be counted, none before it is due. How many were due is known
 * only to within the time that reading takes, so a count passes that is right
 * for some time between SLACK before and after it.
 */
#include "loads.h"
#include "clock.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SLACK (2 * NSEC_PER_MSEC)
#define BATCH 64

static void account(const struct loads *loads, struct load_task *task, int64_t now)
{
	int64_t since = now - loads->shared->zero;
	int64_t at_least = releases_due(task, since - SLACK);
	int64_t at_most = releases_due(task, since);

	task->early = task->served > at_most ? task->served - at_most : 0;
	task->expected = task->served < at_least ? at_least : task->served;
}

static int fail(const char *what)
{
	fprintf(stderr, "%s: %s: %m\n", program_invocation_short_name, what);
	return 1;
}

static struct itimerspec when_due(const struct shared *shared, const struct load_task *task)
{
	return (struct itimerspec){
		.it_value = to_timespec(shared->zero + task->phase),
		.it_interval = to_timespec(task->period),
	};
}

static int open_timerfds(int *fds, int count)
{
	int epoll = epoll_create1(0);

	for (int i = 0; i < count; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.u32 = i };

		fds[i] = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
		if (fds[i] < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &event))
			return -1;
	}
	return epoll;
}

static void read_timerfd(int fd, struct load_task *task)
{
	uint64_t expirations;

	if (read(fd, &expirations, sizeof(expirations)) == sizeof(expirations))
		task->served += expirations;
}

int timerfds_run(struct loads *loads, struct load_task *tasks, int count)
{
	const struct shared *shared = loads->shared;
	struct epoll_event events[BATCH];
	struct rlimit limit = { count + 64, count + 64 };
	int *fds = calloc(count, sizeof(*fds));
	int epoll;

	if (!fds || (setrlimit(RLIMIT_NOFILE, &limit) && errno != EPERM))
		return fail("timerfds");
	epoll = open_timerfds(fds, count);
	if (epoll < 0)
		return fail("timerfds");
	if (task_become(tasks))
		return 1;
	task_ready_and_wait(loads, count);
	for (int i = 0; i < count; i++) {
		struct itimerspec when = when_due(shared, &tasks[i]);

		if (timerfd_settime(fds[i], TFD_TIMER_ABSTIME, &when, NULL))
			return fail("timerfd_settime");
	}
	do {
		int n = epoll_wait(epoll, events, BATCH, -1);

		for (int i = 0; i < n; i++)
			read_timerfd(fds[events[i].data.u32], &tasks[events[i].data.u32]);
	} while (clock_ns() < shared->stop);
	for (int i = 0; i < count; i++) {
		read_timerfd(fds[i], &tasks[i]);
		account(loads, &tasks[i], clock_ns());
	}
	return 0;
}

static int create_posix_timers(timer_t *timers, int count)
{
	for (int i = 0; i < count; i++) {
		struct sigevent event = {
			.sigev_notify = SIGEV_SIGNAL,
			.sigev_signo = SIGRTMIN,
			.sigev_value.sival_int = i,
		};

		if (timer_create(CLOCK_MONOTONIC, &event, &timers[i]))
			return -1;
	}
	return 0;
}

int posix_timers_run(struct loads *loads, struct load_task *tasks, int count)
{
	const struct shared *shared = loads->shared;
	timer_t *timers = calloc(count, sizeof(*timers));
	int left = count;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (!timers || task_become(tasks) || create_posix_timers(timers, count))
		return fail("POSIX timers");
	task_ready_and_wait(loads, count);
	for (int i = 0; i < count; i++) {
		struct itimerspec when = when_due(shared, &tasks[i]);

		if (timer_settime(timers[i], TIMER_ABSTIME, &when, NULL))
			return fail("timer_settime");
	}
	/* until every timer has signalled once more after the end */
	while (left) {
		siginfo_t info;
		struct load_task *task;
		int64_t now;
		int i;

		if (sigwaitinfo(&set, &info) < 0)
			continue;
		now = clock_ns();
		i = info.si_value.sival_int;
		task = &tasks[i];
		task->served += 1 + info.si_overrun;
		if (now < shared->stop)
			continue;
		account(loads, task, now);
		timer_delete(timers[i]);
		left--;
	}
	return 0;
}

/*
 * An interval timer does not tell how often it expired while its signal was
 * pending, so no more can be asked than that it goes on until the end.
 */
int itimer_run(struct loads *loads, struct load_task *task)
{
	const struct shared *shared = loads->shared;
	const struct timespec patience = to_timespec(task->period + 100 * NSEC_PER_MSEC);
	struct itimerval when;
	int64_t armed;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (task_become(task))
		return 1;
	task_ready_and_wait(loads, 1);
	when.it_interval.tv_sec = task->period / NSEC_PER_SEC;
	when.it_interval.tv_usec = task->period % NSEC_PER_SEC / NSEC_PER_USEC;
	when.it_value = when.it_interval;
	armed = clock_ns();
	if (setitimer(ITIMER_REAL, &when, NULL))
		return fail("setitimer");
	task->period = task->period / NSEC_PER_USEC * NSEC_PER_USEC;
	while (clock_ns() < shared->stop) {
		if (sigtimedwait(&set, NULL, &patience) < 0) {
			task->expected = task->served + 1;
			return 0;
		}
		task->served++;
		if (armed + task->served * task->period > clock_ns())
			task->early++;
	}
	task->expected = task->served;
	return 0;
}
