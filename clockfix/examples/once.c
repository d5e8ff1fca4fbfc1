// SPDX-License-Identifier: LGPL-2.1-or-later
/* once.c - run a job a millisecond from now and say how late it was */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <clockfix.h>

static void job(void *arg, const struct clockfix_run *run)
{
	int64_t *late = arg;

	*late = clockfix_now(CLOCK_MONOTONIC) - run->instant;
}

int main(void)
{
	struct clockfix *timer;
	int64_t late[10];
	int ret;

	ret = clockfix_create(&timer, NULL);
	if (ret) {
		fprintf(stderr, "once: no timer: %s\n", strerror(-ret));
		return 1;
	}
	for (int i = 0; i < 10; i++) {
		int64_t instant = clockfix_now(CLOCK_MONOTONIC) + 1000000;

		ret = clockfix_submit(timer, instant, job, &late[i], NULL);
		if (ret) {
			fprintf(stderr, "once: not submitted: %s\n", strerror(-ret));
			break;
		}
		clockfix_drain(timer);
		printf("job %d ran %lld ns after its instant\n", i, (long long)late[i]);
	}
	clockfix_destroy(timer, 0);
	return ret ? 1 : 0;
}
