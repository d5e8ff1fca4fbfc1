// SPDX-License-Identifier: GPL-2.0-or-later
/* An ordinary task arms a timerfd on which others wait that rank above it. */
#define _GNU_SOURCE
#include "rank.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#define WAITERS_PRIORITY 80
#define STACK_SIZE (64 * 1024)

static int timer;

static int set_with(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int set = epoll_create1(EPOLL_CLOEXEC);

	if (set < 0 || epoll_ctl(set, EPOLL_CTL_ADD, fd, &event))
		return failed("epoll");
	return set;
}

/* Each has an epoll set of its own. */
static void *wait_as(void *argument)
{
	struct pollfd file = { .fd = timer, .events = POLLIN };
	const struct options *options = argument;
	struct epoll_event event;
	uint64_t expirations;
	int set = -1;

	if (task_fifo(0, WAITERS_PRIORITY))
		return NULL;
	if (!strcmp(options->who, "epoll"))
		set = set_with(timer);
	if (!strcmp(options->who, "nested"))
		set = set_with(set_with(timer));
	if (set >= 0)
		epoll_wait(set, &event, 1, -1);
	else if (!strcmp(options->who, "poll"))
		poll(&file, 1, -1);
	else if (read(timer, &expirations, sizeof(expirations)) < 0)
		failed("read");
	return NULL;
}

static int start_waiters(const struct options *options)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	for (int i = 0; i < options->count; i++) {
		pthread_t thread;

		errno = pthread_create(&thread, &attributes, wait_as, (void *)options);
		if (errno)
			return failed("waiter");
	}
	usleep(100000);
	return 0;
}

int arm(const struct options *options)
{
	int ret = 0;

	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (timer < 0)
		return failed("timerfd_create");
	if (strcmp(options->who, "none"))
		ret = start_waiters(options);
	for (int i = -options->warmup; !ret && i < options->repeats; i++) {
		struct itimerspec later = {
			.it_value = to_timespec(AN_HOUR + (options->repeats - i) * NSEC_PER_MSEC),
		};

		if (!i)
			recording();
		mark_rise();
		ret = timerfd_settime(timer, 0, &later, NULL);
		mark_end();
		if (ret)
			ret = failed("timerfd_settime");
	}
	recording();
	return ret;
}
