// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libclockfix by the clock of a PTP device: that of a simulated network card,
 * set to another speed than the system's clock. Each test fails where the
 * sleeper takes that speed for CLOCK_MONOTONIC's.
 */
#define _GNU_SOURCE
#include "lib/tap.h"
#include "file.h"

#include <clockfix.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#define LATE	(200 * (s64)USEC)	/* a debug kernel takes its time to read the device */
#define FAST	200			/* ppm */

/* The card's clock; see clock_getres(2) for how a descriptor is one. */
static clockid_t device(int ppm)
{
	struct timex speed = { .modes = ADJ_FREQUENCY, .freq = ppm * 65536L };
	clockid_t clock;
	int fd;

	if (access("/dev/ptp0", F_OK) && file_write("/sys/bus/netdevsim/new_device", "1 1"))
		skip("the kernel has no simulated network card (CONFIG_NETDEVSIM)");
	fd = open("/dev/ptp0", O_RDWR);
	require(fd >= 0, "/dev/ptp0: %s", strerror(errno));
	clock = ~(clockid_t)fd << 3 | 3;
	require(clock_adjtime(clock, &speed) >= 0, "clock_adjtime: %s", strerror(errno));
	return clock;
}

TEST(a_sleeper_meets_it)
{
	static const s64 lengths[] = { 100 * USEC, 1 * MSEC, 50 * MSEC, 2 * SEC };
	struct clockfix_sleeper *sleeper;
	s64 most = 0;

	require(!clockfix_sleeper_create(&sleeper, NULL), "no sleeper");
	for (int i = 0; i < 60; i++) {
		clockid_t clock = device(i / 4 % 3 * FAST - FAST);
		s64 instant = clockfix_now(clock) + lengths[i % 4], late;
		int ret = clockfix_sleep_until(sleeper, clock, instant);

		late = clockfix_now(clock) - instant;
		require(!ret, "clockfix_sleep_until: %s", strerror(-ret));
		check(late >= 0, "%lld ns early", (long long)-late);
		if (i >= 20 && late > most)
			most = late;
		close(~(clock >> 3));
	}
	note("at most %lld ns late", (long long)most);
	check(most < LATE, "%lld ns late", (long long)most);
}

TEST(a_descriptor_is_in_time_for_it)
{
	clockid_t clock = device(FAST);
	struct clockfix_sleeper *sleeper;
	s64 most = 0;

	require(!clockfix_sleeper_create(&sleeper, NULL), "no sleeper");
	for (int i = 0; i < 20; i++) {
		s64 instant = clockfix_now(clock) + 20 * MSEC, late;
		int ret = clockfix_sleeper_arm(sleeper, clock, instant);

		require(!ret, "clockfix_sleeper_arm: %s", strerror(-ret));
		while ((ret = clockfix_sleeper_finish(sleeper)) == -EAGAIN)
			usleep(100);
		late = clockfix_now(clock) - instant;
		check(!ret && late >= 0, "%d, %lld ns late", ret, (long long)late);
		if (i >= 5 && late > most)
			most = late;
	}
	note("at most %lld ns late", (long long)most);
	check(most < LATE, "%lld ns late", (long long)most);
}

/* What a job does that follows a clock: it moves its own next instant by what it is off. */
struct follower {
	clockid_t clock;
	s64 start, worst;
};

static void follow(void *arg, const struct clockfix_run *run)
{
	struct follower *follower = arg;
	s64 off = clockfix_now(follower->clock) - follower->start - (s64)(run->index * MSEC);

	clockfix_adjust(run->timer, run->job, -off / 2, 0);
	if (off < 0)
		off = -off;
	if (run->index > 500 && off > follower->worst)
		follower->worst = off;
}

TEST(a_periodic_job_follows_it)
{
	struct follower follower = { .clock = device(FAST) };
	struct clockfix_spec spec;
	struct clockfix *timer;

	require(!clockfix_create(&timer, NULL), "no timer");
	clockfix_spec_init(&spec);
	spec.start = clockfix_now(CLOCK_MONOTONIC) + 10 * MSEC;
	spec.period = MSEC;
	spec.runs = 2000;
	spec.missed = CLOCKFIX_MISSED_CATCH_UP;
	spec.fn = follow;
	spec.arg = &follower;
	follower.start = clockfix_now(follower.clock) + 10 * MSEC;
	require(!clockfix_schedule(timer, &spec, NULL), "no job");
	clockfix_drain(timer);
	clockfix_destroy(timer, 0);
	note("off by %lld ns at most", (long long)follower.worst);
	/* without, 2,000 periods are 400 us off */
	check(follower.worst < LATE / 2, "off by %lld ns", (long long)follower.worst);
}

int main(int argc, char **argv)
{
	return run_tests(argc, argv, TESTS_KEEP_SWITCH);
}
