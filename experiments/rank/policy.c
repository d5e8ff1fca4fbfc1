// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A task gets another policy: itself, or, by one that outranks it, while it sleeps.
 * What a rise begins and leaves to the task, that ranks its timers, is over before
 * the fall.
 */
#define _GNU_SOURCE
#include "rank.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>

#define PRIORITY 20

static int timerfds[MAX_COUNT];
static int set;

/* Armed by an ordinary task, they rank with it until they are waited for. */
static int arm_timerfds(int count)
{
	struct itimerspec hour = { .it_value = to_timespec(AN_HOUR) };

	for (int i = 0; i < count; i++)
		if (timerfd_settime(timerfds[i], 0, &hour, NULL))
			return failed("timerfd_settime");
	return 0;
}

static int make_timerfds(int count)
{
	struct epoll_event event = { .events = EPOLLIN };

	set = epoll_create1(EPOLL_CLOEXEC);
	if (set < 0)
		return failed("epoll_create1");
	for (int i = 0; i < count; i++) {
		timerfds[i] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
		if (timerfds[i] < 0 || epoll_ctl(set, EPOLL_CTL_ADD, timerfds[i], &event))
			return failed("timerfd");
	}
	return arm_timerfds(count);
}

static void make_timers(int count)
{
	struct sigevent signal = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct itimerspec hour = { .it_value = to_timespec(AN_HOUR) };

	for (int i = 0; i < count; i++) {
		timer_t timer;

		if (timer_create(CLOCK_MONOTONIC, &signal, &timer) ||
		    timer_settime(timer, 0, &hour, NULL))
			_exit(1);
	}
}

static void sleep_as(const struct options *options)
{
	struct epoll_event event;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!strcmp(options->who, "nanosleep"))
		sleep_until(clock_ns() + AN_HOUR);
	if (!strcmp(options->who, "epoll"))
		epoll_wait(set, &event, 1, -1);
	if (!strcmp(options->who, "timers"))
		make_timers(options->count);
	pause();
	_exit(1);
}

static int start_sleeper(const struct options *options, pid_t *pid)
{
	bool polls = !strcmp(options->who, "epoll");

	if (polls && make_timerfds(options->count))
		return -EIO;
	*pid = fork();
	if (*pid < 0)
		return failed("fork");
	if (!*pid)
		sleep_as(options);
	usleep(100000);	/* it has got to where it sleeps */
	return 0;
}

static int rise(pid_t pid, const struct options *options)
{
	static const struct sched_param fifo = { .sched_priority = PRIORITY }, zero;
	bool real_time = !strcmp(options->to, "fifo");
	int ret;

	mark_rise();
	ret = sched_setscheduler(pid, real_time ? SCHED_FIFO : SCHED_BATCH,
				 real_time ? &fifo : &zero);
	mark_end();
	return ret ? failed("sched_setscheduler") : 0;
}

static int fall(pid_t pid)
{
	static const struct sched_param zero;
	int ret;

	mark_fall();
	ret = sched_setscheduler(pid, SCHED_OTHER, &zero);
	mark_end();
	return ret ? failed("sched_setscheduler") : 0;
}

/* Once the task has ranked its timers they stay where they are, until armed again. */
static int forget(const struct options *options)
{
	if (strcmp(options->who, "epoll"))
		return 0;
	if (task_fifo(0, 0) || arm_timerfds(options->count))
		return -EIO;
	return task_fifo(0, ABOVE_ALL);
}

static int change(pid_t pid, const struct options *options)
{
	int ret = rise(pid, options);

	if (ret)
		return ret;
	mark_job();
	settle();
	mark_end();
	ret = fall(pid);
	if (ret)
		return ret;
	settle();
	return forget(options);
}

int policy(const struct options *options)
{
	pid_t pid = 0;
	int ret = 0;

	if (strcmp(options->who, "self")) {
		ret = start_sleeper(options, &pid);
		if (!ret)
			ret = task_fifo(0, ABOVE_ALL);
	}
	for (int i = -options->warmup; !ret && i < options->repeats; i++) {
		if (!i)
			recording();
		ret = change(pid, options);
	}
	recording();
	if (pid > 0)
		kill(pid, SIGKILL);
	return ret;
}
