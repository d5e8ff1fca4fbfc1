// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * epoll.c - an event loop that does something at exact times between other events
 *
 * The sleeper's descriptor becomes readable shortly before the time that it is armed for. Then
 * clockfix_sleeper_finish() waits out the rest, some tens of microseconds.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include <clockfix.h>

#define PERIOD	1000000	/* ns */
#define STEPS	200

static int watch(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int main(void)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC), others[2], steps = 0, messages = 0, timer, ret;
	struct clockfix_stats stats = { .size = sizeof(stats) };
	struct clockfix_sleeper *sleeper;
	int64_t next = clockfix_now(CLOCK_MONOTONIC) + PERIOD;

	ret = clockfix_sleeper_create(&sleeper, NULL);
	if (ret || epoll < 0 || pipe(others)) {
		fprintf(stderr, "epoll: can't start: %s\n", strerror(ret ? -ret : errno));
		return 1;
	}
	timer = clockfix_sleeper_fd(sleeper);
	ret = timer < 0 ? timer : watch(epoll, timer);
	if (!ret)
		ret = watch(epoll, others[0]);
	if (!ret)
		ret = clockfix_sleeper_arm(sleeper, next);
	while (!ret && steps < STEPS) {
		struct epoll_event event;
		char message;

		if (epoll_wait(epoll, &event, 1, -1) < 1)
			continue;
		if (event.data.fd == timer) {
			/* a signal may have ended it: the descriptor stays armed, so try again */
			ret = clockfix_sleeper_finish(sleeper);
			if (ret == -EINTR)
				ret = clockfix_sleep_until(sleeper, CLOCK_MONOTONIC, next);
			/* here it is time: act */
			if (++steps % 10 == 0 && write(others[1], "x", 1) < 0)
				break;
			next += PERIOD;
			if (!ret)
				ret = clockfix_sleeper_arm(sleeper, next);
		} else if (read(others[0], &message, 1) == 1) {
			messages++;
		}
	}
	clockfix_sleeper_stats_read(sleeper, &stats);
	printf("%d steps and %d other events; late by %lld ns (median), %lld ns (99 %%)\n", steps,
	       messages, (long long)clockfix_histogram_quantile(&stats.lateness, 0.5),
	       (long long)clockfix_histogram_quantile(&stats.lateness, 0.99));
	clockfix_sleeper_destroy(sleeper);
	if (ret)
		fprintf(stderr, "epoll: %s\n", strerror(-ret));
	return ret || steps < STEPS || messages < STEPS / 10 - 1;
}
