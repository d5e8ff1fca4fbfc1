// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "polled.h"
#include "task.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/timerfd.h>
#include <unistd.h>

static int by_poll(int fd)
{
	return poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, -1);
}

static int by_select(int fd)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	return select(fd + 1, &set, NULL, NULL, NULL);
}

static int by_epoll(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int ret, set = epoll_create1(EPOLL_CLOEXEC);

	if (set < 0)
		return -1;
	ret = epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
	if (!ret)
		ret = epoll_wait(set, &event, 1, -1);
	close(set);
	return ret;
}

/* One event has to be there, and the time to be reached. */
static int wait_by(int (*way)(int fd), u64 expiry, u64 *due)
{
	struct itimerspec setting = { .it_value = to_timespec(expiry) };
	int ret, fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	*due = expiry;
	ret = timerfd_settime(fd, TFD_TIMER_ABSTIME, &setting, NULL);
	if (!ret)
		ret = way(fd);
	ret = ret == 1 ? 0 : ret ? -errno : -ERANGE;
	close(fd);
	return ret;
}

static int wait_poll(u64 expiry, u64 *due)
{
	return wait_by(by_poll, expiry, due);
}

static int wait_select(u64 expiry, u64 *due)
{
	return wait_by(by_select, expiry, due);
}

static int wait_epoll(u64 expiry, u64 *due)
{
	return wait_by(by_epoll, expiry, due);
}

const struct api polled_apis[] = {
	{ "poll of a timerfd", wait_poll, false },
	{ "select of a timerfd", wait_select, false },
	{ "epoll of a timerfd", wait_epoll, false },
};

const unsigned int polled_api_count = ARRAY_SIZE(polled_apis);
