// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "timers.h"
#include "task.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

struct itimerspec to_itimerspec(u64 first, u64 period)
{
	return (struct itimerspec){
		.it_value = to_timespec(first),
		.it_interval = to_timespec(period),
	};
}

int timerfd_new(clockid_t clock, int flags)
{
	int fd = timerfd_create(clock, flags);

	require(fd >= 0, "timerfd_create: %m");
	return fd;
}

void timerfd_arm(int fd, u64 first, u64 period)
{
	struct itimerspec setting = to_itimerspec(first, period);

	require(!timerfd_settime(fd, TFD_TIMER_ABSTIME, &setting, NULL), "timerfd_settime: %m");
}

u64 timerfd_await(int fd)
{
	u64 count = 0;

	return read(fd, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

timer_t posix_timer_new(clockid_t clock, int notify, pid_t thread, u64 first, u64 period)
{
	struct sigevent event = { .sigev_notify = notify, .sigev_signo = SIGRTMIN };
	struct itimerspec setting = to_itimerspec(first, period);
	timer_t timer;

	event.sigev_notify_thread_id = thread;
	require(!timer_create(clock, &event, &timer) &&
		!timer_settime(timer, TIMER_ABSTIME, &setting, NULL), "POSIX timer: %m");
	return timer;
}

timer_t posix_timer_arm(int notify, pid_t thread, u64 first, u64 period)
{
	return posix_timer_new(CLOCK_MONOTONIC, notify, thread, first, period);
}

void itimer_arm(u64 expiry)
{
	u64 time = (expiry - now()) / USEC + 1;
	struct itimerval setting = {
		.it_value = { .tv_sec = time / 1000000, .tv_usec = time % 1000000 },
	};

	require(!setitimer(ITIMER_REAL, &setting, NULL), "setitimer: %m");
}

sigset_t block_signal(int signal)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return set;
}

void pi_mutex_init(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	require(!pthread_mutex_init(mutex, &attributes), "no mutex with priority inheritance");
}

pthread_mutex_t *pi_mutex_new(void)
{
	pthread_mutex_t *mutex = shared_memory(sizeof(*mutex));

	pi_mutex_init(mutex);
	return mutex;
}

int epoll_with(int fd)
{
	int set = epoll_create1(0);

	require(set >= 0, "epoll_create1: %m");
	if (fd >= 0)
		epoll_add(set, fd);
	return set;
}

void epoll_add(int set, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	require(!epoll_ctl(set, EPOLL_CTL_ADD, fd, &event), "epoll_ctl: %m");
}

int epoll_await(int set)
{
	struct epoll_event event;

	return epoll_wait(set, &event, 1, -1);
}

int by_poll(int fd)
{
	return poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, -1);
}

int by_select(int fd)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	return select(fd + 1, &set, NULL, NULL, NULL);
}

int by_epoll(int fd)
{
	int set = epoll_with(fd), ret = epoll_await(set);

	close(set);
	return ret;
}
