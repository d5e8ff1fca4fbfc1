// SPDX-License-Identifier: GPL-2.0-or-later
/* A sleeper holds a lock: a task that waits for it lends its priority and takes it back. */
#define _GNU_SOURCE
#include "rank.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define HOLDERS_PRIORITY 10

static atomic_uint lock;

static void *hold(void *argument)
{
	const struct options *options = argument;

	if (task_fifo(0, HOLDERS_PRIORITY))
		return NULL;
	atomic_store(&lock, (unsigned int)gettid());
	if (!strcmp(options->who, "nanosleep"))
		sleep_until(clock_ns() + AN_HOUR);
	pause();
	return NULL;
}

static int wait_and_give_up(void)
{
	struct timespec until;
	long ret;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 200 * NSEC_PER_USEC;
	if (until.tv_nsec >= NSEC_PER_SEC) {
		until.tv_nsec -= NSEC_PER_SEC;
		until.tv_sec++;
	}
	mark_job();
	ret = syscall(SYS_futex, &lock, FUTEX_LOCK_PI_PRIVATE, 0, &until);
	mark_end();
	if (!ret)
		errno = EDEADLK;	/* nobody held it */
	return !ret || errno != ETIMEDOUT ? failed("FUTEX_LOCK_PI") : 0;
}

int inherit(const struct options *options)
{
	pthread_t thread;
	int ret;

	errno = pthread_create(&thread, NULL, hold, (void *)options);
	if (errno)
		return failed("pthread_create");
	usleep(100000);
	ret = task_fifo(0, ABOVE_ALL);
	for (int i = -options->warmup; !ret && i < options->repeats; i++) {
		if (!i)
			recording();
		ret = wait_and_give_up();
	}
	recording();
	return ret;
}
