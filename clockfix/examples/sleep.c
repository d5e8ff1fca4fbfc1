// SPDX-License-Identifier: LGPL-2.1-or-later
/* sleep.c - pace a thread of one's own: the loop of a sender, 10,000 packets a second */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include <clockfix.h>

int main(void)
{
	static struct clockfix_histogram late;
	int64_t next = clockfix_now(CLOCK_MONOTONIC);

	for (int i = 0; i < 5000; i++) {
		next += 100000;
		if (clockfix_sleep_until(NULL, CLOCK_MONOTONIC, next))
			return 1;
		/* send */
		clockfix_histogram_add(&late, clockfix_now(CLOCK_MONOTONIC) - next);
	}
	printf("%" PRIu64 " packets, late by %" PRId64 " ns (median), %" PRId64 " ns (99 %%)\n",
	       late.count, clockfix_histogram_quantile(&late, 0.5),
	       clockfix_histogram_quantile(&late, 0.99));
	return 0;
}
