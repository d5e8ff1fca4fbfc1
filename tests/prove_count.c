// SPDX-License-Identifier: GPL-2.0-or-later
/* The count of interruptions that the loop of "timershield prove" makes, against the tracepoints. */
#define _GNU_SOURCE
#include "lib/shield.h"
#include "lib/task.h"
#include "lib/timers.h"
#include "lib/window.h"
#include "loop/control_loop.h"
#include "loop/loads.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define TIMERFDS 1000
#define JOBS 100

/* Periods of 1, 2, ... us. */
static void serve_timerfds(void)
{
	int epoll = epoll_create1(0);

	for (unsigned int i = 1; i <= TIMERFDS; i++) {
		int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
		struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

		epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
		timerfd_arm(fd, now() + i * USEC, i * USEC);
	}
	for (;;) {
		struct epoll_event event;
		u64 expirations;

		if (epoll_wait(epoll, &event, 1, -1) == 1 &&
		    read(event.data.fd, &expirations, sizeof(expirations)) < 0)
			continue;
	}
}

/* One job after another, each next to the tracepoints. */
static void count_both(struct control_loop *loop, u64 *own, u64 *truth)
{
	u64 due = (u64)loads_zero(200 * MSEC);

	for (int i = 0; i < JOBS; i++, due += 20 * MSEC) {
		struct window window;
		struct job job = { 0 };

		sleep_until(due);
		window_open(&window);
		control_loop_work(loop, &job);
		window_close(&window);
		window_read(&window);
		*own += job.interruptions;
		*truth += window.interrupts;
		window_prepare();
	}
}

TEST(counts_what_interrupts)
{
	struct control_loop loop = { .cpu = 0 };
	u64 own = 0, truth = 0;

	shield_set(false);
	window_prepare();
	require(!control_loop_enter(&loop), "FIFO 99: %s", strerror(errno));
	require(!control_loop_calibrate(&loop), "calibration");
	control_loop_leave();
	STARTED(OTHER) serve_timerfds();
	sleep_for(200 * MSEC);
	require(!control_loop_enter(&loop), "FIFO 99: %s", strerror(errno));
	count_both(&loop, &own, &truth);
	control_loop_leave();
	note("a round takes %llu ns, the threshold is %llu ns; %llu interruptions, %llu timer interrupts",
	     (u64)loop.round, (u64)loop.threshold, own, truth);
	if (kernel_is_rt())
		skip("on PREEMPT_RT such timers hardly interrupt");
	require(truth > 10 * JOBS, "only %llu timer interrupts", truth);
	check(own * 100 >= truth * 99 && own * 100 <= truth * 101,
	      "%llu interruptions, but %llu timer interrupts", own, truth);
}

int main(int argc, char **argv)
{
	return run_tests(argc, argv, 0);
}
