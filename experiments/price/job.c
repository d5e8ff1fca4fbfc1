// SPDX-License-Identifier: GPL-2.0-or-later
/* A job, and timerfds of an ordinary thread of its own process. */
#include "price.h"
#include "clock.h"
#include "rounds.h"
#include "tasks.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define JOBS 400
#define WARMUP 20
#define ROUNDS 2800		/* some 225 us in a guest */
#define GAP 400			/* ns: a longer one is an interruption */
#define MAX_TIMERS 200

static atomic_bool stop;

/* Of periods from 1 to 2 ms */
static void *poll_timers(void *row)
{
	int count = ((const struct row *)row)->number;
	struct pollfd polled[MAX_TIMERS];
	uint64_t expirations;

	for (int i = 0; i < count; i++) {
		struct timespec period = to_timespec(NSEC_PER_MSEC + 5003 * i);
		struct itimerspec when = { period, period };

		polled[i] = (struct pollfd){
			.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), .events = POLLIN,
		};
		must(!timerfd_settime(polled[i].fd, 0, &when, NULL), "timerfd");
	}
	while (!stop) {
		poll(polled, count, 10);
		for (int i = 0; i < count; i++)
			if (polled[i].revents)
				must(read(polled[i].fd, &expirations, 8) == 8, "read");
	}
	for (int i = 0; i < count; i++)
		close(polled[i].fd);
	return NULL;
}

void job(const struct row *row)
{
	uint64_t gap = GAP * measure_ticks_per_ns();
	static int64_t responses[JOBS];
	struct interruptions seen;
	pthread_t thread;
	int64_t due;

	stop = false;
	if (row->number)
		must(!pthread_create(&thread, NULL, poll_timers, (void *)row), "thread");
	must(!task_fifo(0, 99), "job");
	due = clock_ns() / NSEC_PER_MSEC * NSEC_PER_MSEC + 20 * NSEC_PER_MSEC + NSEC_PER_MSEC / 2;
	for (int i = -WARMUP; i < JOBS; i++, due += NSEC_PER_MSEC) {
		if (i <= 0)
			seen = (struct interruptions){ 0 };
		sleep_until(due);
		work_rounds(ROUNDS, gap, 0, &seen);
		if (i >= 0)
			responses[i] = clock_ns() - due;
	}
	stop = true;
	must(!task_fifo(0, 0), "job");
	if (row->number)
		pthread_join(thread, NULL);
	found(row, "interruptions", (double)seen.count / JOBS, JOBS);
	found_samples(row, responses, JOBS);
}
