// SPDX-License-Identifier: LGPL-2.1-or-later
/* sleep.c - pace a thread of one's own: the loop of a sender, 10,000 packets a second */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <clockfix.h>

int main(void)
{
	struct clockfix_stats stats = { .size = sizeof(stats) };
	struct clockfix_sleeper *sleeper;
	int64_t next;
	int ret;

	ret = clockfix_sleeper_create(&sleeper, NULL);
	if (ret) {
		fprintf(stderr, "sleep: no sleeper: %s\n", strerror(-ret));
		return 1;
	}
	next = clockfix_now(CLOCK_MONOTONIC);
	for (int i = 0; i < 5000 && !ret; i++) {
		next += 100000;
		ret = clockfix_sleep_until(sleeper, CLOCK_MONOTONIC, next);
		/* send */
	}
	clockfix_sleeper_stats_read(sleeper, &stats);
	printf("%" PRIu64 " packets, late by %" PRId64 " ns (median), %" PRId64 " ns (99 %%)\n",
	       stats.jobs, clockfix_histogram_quantile(&stats.lateness, 0.5),
	       clockfix_histogram_quantile(&stats.lateness, 0.99));
	clockfix_sleeper_destroy(sleeper);
	return ret ? 1 : 0;
}
