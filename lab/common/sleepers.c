// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "sleepers.h"
#include "clock.h"
#include "tasks.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#define PRIORITY 10
#define STACK_SIZE (64 * 1024)

static void *sleep_long(void *unused)
{
	struct sched_param param = { .sched_priority = PRIORITY };

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		perror("sleeper: SCHED_FIFO");
	sleep_until(clock_ns() + 3600 * NSEC_PER_SEC);
	return NULL;
}

int start_long_sleepers(int count)
{
	pthread_attr_t attributes;
	int error = 0;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	for (int i = 0; i < count && !error; i++) {
		pthread_t thread;

		error = pthread_create(&thread, &attributes, sleep_long, NULL);
	}
	pthread_attr_destroy(&attributes);
	if (error) {
		errno = error;
		return failed("sleepers");
	}
	usleep(100000);
	return 0;
}
