// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "api.h"
#include "task.h"
#include "timers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

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

	for (unsigned int i = 0; clock != CLOCK_MONOTONIC && i < 3; i++) {
		u64 monotonic = now(), other = clock_now(clock), apart = now() - monotonic;

		if (apart < closest) {
			closest = apart;
			offset = other - monotonic;
		}
	}
	*due = expiry;
	return to_timespec(expiry + offset);
}

static int wait_clock_nanosleep(const struct api *api, u64 expiry, u64 *due)
{
	struct timespec time = time_on(api->clock, expiry, due);

	return -clock_nanosleep(api->clock, TIMER_ABSTIME, &time, NULL);
}

static int wait_nanosleep(const struct api *api, u64 expiry, u64 *due)
{
	struct timespec time = time_until(expiry, due);

	return nanosleep(&time, NULL) ? -errno : 0;
}

static int wait_futex(const struct api *api, u64 expiry, u64 *due)
{
	struct timespec time = time_until(expiry, due);
	unsigned int word = 0;

	return timed_out(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0),
			 -1, ETIMEDOUT);
}

static int wait_futex_bitset(const struct api *api, u64 expiry, u64 *due)
{
	struct timespec time = time_on(api->clock, expiry, due);
	int operation = FUTEX_WAIT_BITSET_PRIVATE;
	unsigned int word = 0;

	if (api->clock == CLOCK_REALTIME)
		operation |= FUTEX_CLOCK_REALTIME;
	return timed_out(syscall(SYS_futex, &word, operation, 0, &time, NULL,
				 FUTEX_BITSET_MATCH_ANY), -1, ETIMEDOUT);
}

static int wait_poll(const struct api *api, u64 expiry, u64 *due)
{
	int timeout = units_until(expiry, MSEC, due);

	return timed_out(poll(NULL, 0, timeout), 0, 0);
}

static int wait_ppoll(const struct api *api, u64 expiry, u64 *due)
{
	struct timespec time = time_until(expiry, due);

	return timed_out(ppoll(NULL, 0, &time, NULL), 0, 0);
}

static int wait_select(const struct api *api, u64 expiry, u64 *due)
{
	u64 time = units_until(expiry, USEC, due);
	struct timeval timeout = { .tv_sec = time / 1000000, .tv_usec = time % 1000000 };

	return timed_out(select(0, NULL, NULL, NULL, &timeout), 0, 0);
}

static int wait_pselect(const struct api *api, u64 expiry, u64 *due)
{
	struct timespec time = time_until(expiry, due);

	return timed_out(pselect(0, NULL, NULL, NULL, &time, NULL), 0, 0);
}

static int wait_epoll(const struct api *api, u64 expiry, u64 *due)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event;
	int timeout = units_until(expiry, MSEC, due);
	int ret = timed_out(epoll_wait(fd, &event, 1, timeout), 0, 0);

	close(fd);
	return ret;
}

static int wait_epoll_pwait2(const struct api *api, u64 expiry, u64 *due)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event;
	struct timespec time = time_until(expiry, due);
	int ret = timed_out(syscall(SYS_epoll_pwait2, fd, &event, 1, &time, NULL, 0), 0, 0);

	close(fd);
	return ret;
}

static int wait_sigtimedwait(const struct api *api, u64 expiry, u64 *due)
{
	sigset_t set = block_signal(SIGUSR2);
	struct timespec time = time_until(expiry, due);

	return timed_out(sigtimedwait(&set, NULL, &time), -1, EAGAIN);
}

static int wait_mq(const struct api *api, u64 expiry, u64 *due)
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
	time = time_on(api->clock, expiry, due);
	ret = timed_out(mq_timedreceive(queue, text, sizeof(text), NULL, &time), -1,
			ETIMEDOUT);
	mq_close(queue);
	return ret;
}

static int wait_semtimedop(const struct api *api, u64 expiry, u64 *due)
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
static int wait_io_getevents(const struct api *api, u64 expiry, u64 *due)
{
	static aio_context_t context;
	struct io_event event;
	struct timespec time;

	if (!context && syscall(SYS_io_setup, 1, &context))
		return -errno;
	time = time_until(expiry, due);
	return timed_out(syscall(SYS_io_getevents, context, 1, 1, &event, &time), 0, 0);
}

/* As <linux/ntsync.h> of Linux 6.14 has it; Debian 12 does not. */
struct ntsync_wait {
	__u64 timeout, objs;
	__u32 count, index, flags, owner, alert, pad;
};

#define NTSYNC_WAIT_ANY _IOWR('N', 0x82, struct ntsync_wait)

static int wait_ntsync(const struct api *api, u64 expiry, u64 *due)
{
	struct ntsync_wait wait = { .timeout = expiry, .owner = getpid() };
	int ret, fd = open("/dev/ntsync", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*due = expiry;
	ret = timed_out(ioctl(fd, NTSYNC_WAIT_ANY, &wait), -1, ETIMEDOUT);
	close(fd);
	return ret;
}

static int wait_timerfd(const struct api *api, u64 expiry, u64 *due)
{
	struct itimerspec setting = { .it_value = time_on(api->clock, expiry, due) };
	int fd = timerfd_create(api->clock, TFD_CLOEXEC);
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

/* One event has to be there, and the time to be reached. */
static int wait_polled(const struct api *api, u64 expiry, u64 *due)
{
	int ret, fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	*due = expiry;
	timerfd_arm(fd, expiry, 0);
	ret = api->by(fd);
	ret = ret == 1 ? 0 : ret ? -errno : -ERANGE;
	close(fd);
	return ret;
}

static int wait_posix_timer(const struct api *api, u64 expiry, u64 *due)
{
	struct sigevent event = { .sigev_notify = api->notify, .sigev_signo = SIGRTMIN };
	struct itimerspec setting = { .it_value = time_on(api->clock, expiry, due) };
	sigset_t set = block_signal(SIGRTMIN);
	siginfo_t info;
	timer_t timer;
	int ret = 0;

	event.sigev_notify_thread_id = syscall(SYS_gettid);
	if (timer_create(api->clock, &event, &timer))
		return -errno;
	if (timer_settime(timer, TIMER_ABSTIME, &setting, NULL) ||
	    sigwaitinfo(&set, &info) < 0)
		ret = -errno;
	else if (info.si_code != SI_TIMER || info.si_overrun)
		ret = -ERANGE;
	timer_delete(timer);
	return ret;
}

static int wait_setitimer(const struct api *api, u64 expiry, u64 *due)
{
	sigset_t set = block_signal(SIGALRM);
	u64 time = units_until(expiry, USEC, due);
	struct itimerval setting = {
		.it_value = { .tv_sec = time / 1000000, .tv_usec = time % 1000000 },
	};

	if (setitimer(ITIMER_REAL, &setting, NULL) || sigwaitinfo(&set, NULL) < 0)
		return -errno;
	return 0;
}

const struct api apis[] = {
	{ "clock_nanosleep", .wait = wait_clock_nanosleep, .clock = CLOCK_MONOTONIC },
	{ "clock_nanosleep_realtime", .wait = wait_clock_nanosleep, .clock = CLOCK_REALTIME },
	{ "clock_nanosleep_boottime", .wait = wait_clock_nanosleep, .clock = CLOCK_BOOTTIME },
	{ "clock_nanosleep_tai", .wait = wait_clock_nanosleep, .clock = CLOCK_TAI },
	{ "nanosleep", .wait = wait_nanosleep, .clock = CLOCK_MONOTONIC },
	{ "futex", .wait = wait_futex, .clock = CLOCK_MONOTONIC },
	{ "futex_bitset", .wait = wait_futex_bitset, .clock = CLOCK_MONOTONIC },
	{ "futex_realtime", .wait = wait_futex_bitset, .clock = CLOCK_REALTIME },
	{ "poll", .wait = wait_poll, .clock = CLOCK_MONOTONIC },
	{ "ppoll", .wait = wait_ppoll, .clock = CLOCK_MONOTONIC },
	{ "select", .wait = wait_select, .clock = CLOCK_MONOTONIC },
	{ "pselect", .wait = wait_pselect, .clock = CLOCK_MONOTONIC },
	{ "epoll_wait", .wait = wait_epoll, .clock = CLOCK_MONOTONIC },
	{ "epoll_pwait2", .wait = wait_epoll_pwait2, .clock = CLOCK_MONOTONIC },
	{ "sigtimedwait", .wait = wait_sigtimedwait, .clock = CLOCK_MONOTONIC },
	{ "mq_timedreceive", .wait = wait_mq, .clock = CLOCK_REALTIME },
	{ "semtimedop", .wait = wait_semtimedop, .clock = CLOCK_MONOTONIC },
	{ "io_getevents", .wait = wait_io_getevents, .clock = CLOCK_MONOTONIC },
	{ "timerfd", .wait = wait_timerfd, .clock = CLOCK_MONOTONIC },
	{ "timerfd_realtime", .wait = wait_timerfd, .clock = CLOCK_REALTIME },
	{ "timerfd_boottime", .wait = wait_timerfd, .clock = CLOCK_BOOTTIME },
	{ "timer_settime_signal", .wait = wait_posix_timer, .clock = CLOCK_MONOTONIC,
	  .notify = SIGEV_SIGNAL },
	{ "timer_settime_thread_id", .wait = wait_posix_timer, .clock = CLOCK_MONOTONIC,
	  .notify = SIGEV_THREAD_ID },
	{ "timer_settime_realtime", .wait = wait_posix_timer, .clock = CLOCK_REALTIME,
	  .notify = SIGEV_SIGNAL },
	{ "setitimer", .wait = wait_setitimer, .clock = CLOCK_MONOTONIC },
};

const struct api polled_apis[] = {
	{ "poll of a timerfd", .wait = wait_polled, .clock = CLOCK_MONOTONIC, .by = by_poll },
	{ "select of a timerfd", .wait = wait_polled, .clock = CLOCK_MONOTONIC, .by = by_select },
	{ "epoll of a timerfd", .wait = wait_polled, .clock = CLOCK_MONOTONIC, .by = by_epoll },
};

const struct api ntsync_api = { "ntsync", .wait = wait_ntsync, .clock = CLOCK_MONOTONIC };

const unsigned int api_count = ARRAY_SIZE(apis);
const unsigned int polled_api_count = ARRAY_SIZE(polled_apis);

const struct api *api_find(const char *name)
{
	for (unsigned int i = 0; i < api_count; i++)
		if (!strcmp(apis[i].name, name))
			return &apis[i];
	fail("no API '%s'", name);
}
