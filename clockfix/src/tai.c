// SPDX-License-Identifier: LGPL-2.1-or-later
/* tai.c - the distance of CLOCK_TAI from CLOCK_MONOTONIC, and its steps */
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <platform.h>

#include "tai.h"
#include "wait.h"

/* Reads of two clocks differ by some ns from turn to turn; a step below this is no step. */
#define STEP_MIN 1000

/* ms: the kernel does not tell when merely its distance of TAI from UTC is set, as at boot */
#define LOOK_EACH 500

int clock_offset(clockid_t clock, int64_t *offset)
{
	int64_t least = INT64_MAX;

	if (pf_clock(clock) == -EINVAL)
		return -EINVAL;

	/* the quickest of some reads; CLOCK_MONOTONIC in the middle */
	for (int i = 0; i < 5; i++) {
		int64_t before = pf_clock(clock), mono = pf_mono();
		int64_t after = pf_clock(clock);

		if (after >= before && after - before < least) {
			least = after - before;
			*offset = before + least / 2 - mono;
		}
	}
	return least == INT64_MAX ? -EINVAL : 0;
}

bool tai_update(struct tai *tai)
{
	int64_t old = atomic_load(&tai->offset), offset = old;

	clock_offset(CLOCK_TAI, &offset);
	if (offset - old < STEP_MIN && old - offset < STEP_MIN)
		return false;
	/* the worker and the watching thread may both see the step */
	if (atomic_compare_exchange_strong(&tai->offset, &old, offset))
		atomic_fetch_add(&tai->steps, 1);
	return true;
}

static int arm(int fd)
{
	struct itimerspec never = { .it_value.tv_sec = INT32_MAX };

	return timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
}

static void *watch(void *arg)
{
	struct tai *tai = arg;
	struct pollfd fds[] = {
		{ .fd = tai->timer_fd, .events = POLLIN },
		{ .fd = tai->stop_fd, .events = POLLIN },
	};
	uint64_t expirations;

	prctl(PR_SET_NAME, "clockfix-tai");
	while (!atomic_load(&tai->stop)) {
		if (poll(fds, 2, LOOK_EACH) < 0)
			continue;
		if (fds[0].revents &&
		    read(tai->timer_fd, &expirations, sizeof(expirations)) < 0)
			arm(tai->timer_fd);
		if (tai_update(tai))
			wake_notify(tai->wake, INT64_MIN);
	}
	return NULL;
}

int tai_watch(struct tai *tai, struct wake *wake)
{
	sigset_t all, old;
	int ret;

	if (tai->watching)
		return 0;
	tai->wake = wake;
	tai->timer_fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (tai->timer_fd < 0)
		return -errno;
	tai->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (tai->stop_fd < 0) {
		ret = -errno;
		goto close_timer;
	}
	if (arm(tai->timer_fd)) {
		ret = -errno;
		goto close_stop;
	}
	/* a step before this line is seen here, one after it by the thread */
	tai_update(tai);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = -pthread_create(&tai->thread, NULL, watch, tai);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret)
		goto close_stop;
	tai->watching = true;
	return 0;

close_stop:
	close(tai->stop_fd);
close_timer:
	close(tai->timer_fd);
	return ret;
}

void tai_close(struct tai *tai)
{
	if (!tai->watching)
		return;
	close(tai->stop_fd);
	close(tai->timer_fd);
	tai->watching = false;
}

void tai_unwatch(struct tai *tai)
{
	uint64_t one = 1;

	if (!tai->watching)
		return;
	atomic_store(&tai->stop, true);
	if (write(tai->stop_fd, &one, sizeof(one)) < 0)
		return;
	pthread_join(tai->thread, NULL);
	tai_close(tai);
}
