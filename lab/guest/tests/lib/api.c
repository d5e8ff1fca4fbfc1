// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "api.h"
#include "task.h"

#include <errno.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* 0 if a call that returned RESULT ended as a timeout does, with VALUE or an errno. */
static int timed_out(long result, long value, int number)
{
	if (result == value && (!number || errno == number))
		return 0;
	return result < 0 ? -errno : -EBADMSG;
}

/* A relative time in units of UNIT, at least one, that does not end before EXPIRY. */
static u64 units_until(u64 expiry, u64 unit, u64 *due)
{
	u64 time = now();
	u64 units = expiry > time ? (expiry - time + unit - 1) / unit : 1;

	*due = time + units * unit;
	return units;
}

static struct timespec time_until(u64 expiry, u64 *due)
{
	return to_timespec(units_until(expiry, 1, due));
}

/*
 * The time on CLOCK that CLOCK_MONOTONIC calls EXPIRY, or later by a clock read: of
 * a few pairs of reads the closest, as others may run between the two.
 */
static struct timespec time_on(clockid_t clock, u64 expiry, u64 *due)
{
	u64 offset = 0, closest = ~0ULL;

	for (unsigned int i = 0; i < 3; i++) {
		u64 monotonic = now(), other = clock_now(clock), apart = now() - monotonic;

		if (apart < closest) {
			closest = apart;
			offset = other - monotonic;
		}
	}
	*due = expiry;
	return to_timespec(expiry + offset);
}

static int sleep_on(clockid_t clock, u64 expiry, u64 *due)
{
	struct timespec time = time_on(clock, expiry, due);

	return -clock_nanosleep(clock, TIMER_ABSTIME, &time, NULL);
}

static int wait_clock_nanosleep(u64 expiry, u64 *due)
{
	struct timespec time = to_timespec(expiry);

	*due = expiry;
	return -clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static int wait_clock_nanosleep_realtime(u64 expiry, u64 *due)
{
	return sleep_on(CLOCK_REALTIME, expiry, due);
}

static int wait_clock_nanosleep_boottime(u64 expiry, u64 *due)
{
	return sleep_on(CLOCK_BOOTTIME, expiry, due);
}

static int wait_clock_nanosleep_tai(u64 expiry, u64 *due)
{
	return sleep_on(CLOCK_TAI, expiry, due);
}

static int wait_nanosleep(u64 expiry, u64 *due)
{
	struct timespec time = time_until(expiry, due);

	return nanosleep(&time, NULL) ? -errno : 0;
}

static int wait_futex(u64 expiry, u64 *due)
{
	struct timespec time = time_until(expiry, due);
	unsigned int word = 0;

	return timed_out(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0),
			 -1, ETIMEDOUT);
}

static int wait_futex_bitset(u64 expiry, u64 *due)
{
	struct timespec time = to_timespec(expiry);
	unsigned int word = 0;

	*due = expiry;
	return timed_out(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, &time, NULL,
				 FUTEX_BITSET_MATCH_ANY), -1, ETIMEDOUT);
}

static int wait_futex_realtime(u64 expiry, u64 *due)
{
	struct timespec time = time_on(CLOCK_REALTIME, expiry, due);
	unsigned int word = 0;

	return timed_out(syscall(SYS_futex, &word,
				 FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME, 0, &time,
				 NULL, FUTEX_BITSET_MATCH_ANY), -1, ETIMEDOUT);
}

static int wait_poll(u64 expiry, u64 *due)
{
	int timeout = units_until(expiry, MSEC, due);

	return timed_out(poll(NULL, 0, timeout), 0, 0);
}

static int wait_ppoll(u64 expiry, u64 *due)
{
	struct timespec time = time_until(expiry, due);

	return timed_out(ppoll(NULL, 0, &time, NULL), 0, 0);
}

static int wait_select(u64 expiry, u64 *due)
{
	u64 time = units_until(expiry, USEC, due);
	struct timeval timeout = { .tv_sec = time / 1000000, .tv_usec = time % 1000000 };

	return timed_out(select(0, NULL, NULL, NULL, &timeout), 0, 0);
}

static int wait_pselect(u64 expiry, u64 *due)
{
	struct timespec time = time_until(expiry, due);

	return timed_out(pselect(0, NULL, NULL, NULL, &time, NULL), 0, 0);
}

static int wait_epoll(u64 expiry, u64 *due)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event;
	int timeout = units_until(expiry, MSEC, due);
	int ret = timed_out(epoll_wait(fd, &event, 1, timeout), 0, 0);

	close(fd);
	return ret;
}

static int wait_epoll_pwait2(u64 expiry, u64 *due)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event;
	struct timespec time = time_until(expiry, due);
	int ret = timed_out(syscall(SYS_epoll_pwait2, fd, &event, 1, &time, NULL, 0), 0, 0);

	close(fd);
	return ret;
}

static int wait_sigtimedwait(u64 expiry, u64 *due)
{
	struct timespec time;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	time = time_until(expiry, due);
	return timed_out(sigtimedwait(&set, NULL, &time), -1, EAGAIN);
}

static int wait_mq(u64 expiry, u64 *due)
{
	struct mq_attr attributes = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	struct timespec time;
	char name[32], text[8];
	mqd_t queue;
	int ret;

	snprintf(name, sizeof(name), "/timershield-%d", getpid());
	queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600, &attributes);
	if (queue < 0)
		return -errno;
	mq_unlink(name);
	time = time_on(CLOCK_REALTIME, expiry, due);
	ret = timed_out(mq_timedreceive(queue, text, sizeof(text), NULL, &time), -1,
			ETIMEDOUT);
	mq_close(queue);
	return ret;
}

static int wait_semtimedop(u64 expiry, u64 *due)
{
	int id = semget(IPC_PRIVATE, 1, 0600);
	struct sembuf down = { .sem_op = -1 };
	struct timespec time;
	int ret;

	if (id < 0)
		return -errno;
	time = time_until(expiry, due);
	ret = timed_out(semtimedop(id, &down, 1, &time), -1, EAGAIN);
	semctl(id, 0, IPC_RMID);
	return ret;
}

/* One context per process: destroying it waits for a grace period. */
static int wait_io_getevents(u64 expiry, u64 *due)
{
	static aio_context_t context;
	struct io_event event;
	struct timespec time;

	if (!context && syscall(SYS_io_setup, 1, &context))
		return -errno;
	time = time_until(expiry, due);
	return timed_out(syscall(SYS_io_getevents, context, 1, 1, &event, &time), 0, 0);
}

static int wait_timerfd_on(clockid_t clock, u64 expiry, u64 *due)
{
	struct itimerspec setting = { .it_value = time_on(clock, expiry, due) };
	int fd = timerfd_create(clock, TFD_CLOEXEC);
	u64 count = 0;
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (timerfd_settime(fd, TFD_TIMER_ABSTIME, &setting, NULL) ||
	    read(fd, &count, sizeof(count)) < 0)
		ret = -errno;
	else if (count != 1)
		ret = -ERANGE;
	close(fd);
	return ret;
}

static int wait_timerfd(u64 expiry, u64 *due)
{
	return wait_timerfd_on(CLOCK_MONOTONIC, expiry, due);
}

static int wait_timerfd_realtime(u64 expiry, u64 *due)
{
	return wait_timerfd_on(CLOCK_REALTIME, expiry, due);
}

static int wait_timerfd_boottime(u64 expiry, u64 *due)
{
	return wait_timerfd_on(CLOCK_BOOTTIME, expiry, due);
}

/* Blocks SIGNAL and returns the set to wait for. */
static sigset_t block(int signal)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return set;
}

static int wait_posix_timer_on(clockid_t clock, int notify, u64 expiry, u64 *due)
{
	struct sigevent event = { .sigev_notify = notify, .sigev_signo = SIGRTMIN };
	struct itimerspec setting = { .it_value = time_on(clock, expiry, due) };
	sigset_t set = block(SIGRTMIN);
	siginfo_t info;
	timer_t timer;
	int ret = 0;

	event.sigev_notify_thread_id = syscall(SYS_gettid);
	if (timer_create(clock, &event, &timer))
		return -errno;
	if (timer_settime(timer, TIMER_ABSTIME, &setting, NULL) ||
	    sigwaitinfo(&set, &info) < 0)
		ret = -errno;
	else if (info.si_code != SI_TIMER || info.si_overrun)
		ret = -ERANGE;
	timer_delete(timer);
	return ret;
}

static int wait_posix_signal(u64 expiry, u64 *due)
{
	return wait_posix_timer_on(CLOCK_MONOTONIC, SIGEV_SIGNAL, expiry, due);
}

static int wait_posix_thread(u64 expiry, u64 *due)
{
	return wait_posix_timer_on(CLOCK_MONOTONIC, SIGEV_THREAD_ID, expiry, due);
}

static int wait_posix_realtime(u64 expiry, u64 *due)
{
	return wait_posix_timer_on(CLOCK_REALTIME, SIGEV_SIGNAL, expiry, due);
}

static int wait_setitimer(u64 expiry, u64 *due)
{
	sigset_t set = block(SIGALRM);
	u64 time = units_until(expiry, USEC, due);
	struct itimerval setting = {
		.it_value = { .tv_sec = time / 1000000, .tv_usec = time % 1000000 },
	};

	if (setitimer(ITIMER_REAL, &setting, NULL) || sigwaitinfo(&set, NULL) < 0)
		return -errno;
	return 0;
}

const struct api apis[] = {
	{ "clock_nanosleep", wait_clock_nanosleep, false },
	{ "clock_nanosleep_realtime", wait_clock_nanosleep_realtime, true },
	{ "clock_nanosleep_boottime", wait_clock_nanosleep_boottime, false },
	{ "clock_nanosleep_tai", wait_clock_nanosleep_tai, true },
	{ "nanosleep", wait_nanosleep, false },
	{ "futex", wait_futex, false },
	{ "futex_bitset", wait_futex_bitset, false },
	{ "futex_realtime", wait_futex_realtime, true },
	{ "poll", wait_poll, false },
	{ "ppoll", wait_ppoll, false },
	{ "select", wait_select, false },
	{ "pselect", wait_pselect, false },
	{ "epoll_wait", wait_epoll, false },
	{ "epoll_pwait2", wait_epoll_pwait2, false },
	{ "sigtimedwait", wait_sigtimedwait, false },
	{ "mq_timedreceive", wait_mq, true },
	{ "semtimedop", wait_semtimedop, false },
	{ "io_getevents", wait_io_getevents, false },
	{ "timerfd", wait_timerfd, false },
	{ "timerfd_realtime", wait_timerfd_realtime, true },
	{ "timerfd_boottime", wait_timerfd_boottime, false },
	{ "timer_settime_signal", wait_posix_signal, false },
	{ "timer_settime_thread_id", wait_posix_thread, false },
	{ "timer_settime_realtime", wait_posix_realtime, true },
	{ "setitimer", wait_setitimer, false },
};

const unsigned int api_count = ARRAY_SIZE(apis);

const struct api *api_find(const char *name)
{
	for (unsigned int i = 0; i < api_count; i++)
		if (!strcmp(apis[i].name, name))
			return &apis[i];
	fail("no API '%s'", name);
}
