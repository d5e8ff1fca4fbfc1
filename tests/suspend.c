// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The machine sleeps: with timers that have expired and are masked, with some that expire
 * meanwhile, and with some that expire later. None is lost or early; those that expired before
 * it woke are served then, the others on time.
 *
 * On a stock kernel nothing is masked, and so it passes there.
 */
#define _GNU_SOURCE
#include "file.h"
#include "lib/shield.h"
#include "lib/task.h"
#include "lib/timers.h"

#include <string.h>
#include <unistd.h>

#define PM_STATE "/sys/power/state"
#define TEST_DELAY "/sys/module/suspend/parameters/pm_test_delay"
#define PM_TEST "/sys/power/pm_test"

static const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_BOOTTIME };
/* Masked when it goes to sleep, while it sleeps, afterwards. */
static const u64 delays[] = { 200 * MSEC, 700 * MSEC, 5 * SEC };

struct sleeper {
	clockid_t clock;
	bool timerfd;		/* it reads one instead of sleeping */
	u64 due, woke;		/* on that clock */
};

static void nap(struct sleeper *sleeper)
{
	struct itimerspec value = { .it_value = to_timespec(sleeper->due) };
	int fd;

	if (sleeper->timerfd) {
		fd = timerfd_new(sleeper->clock, 0);
		require(!timerfd_settime(fd, TFD_TIMER_ABSTIME, &value, NULL), "settime: %m");
		require(timerfd_await(fd), "read: %m");
	} else {
		require(!clock_nanosleep(sleeper->clock, TIMER_ABSTIME, &value.it_value, NULL),
			"clock_nanosleep fails");
	}
	sleeper->woke = clock_now(sleeper->clock);
}

static void check_sleeper(const struct sleeper *sleeper, u64 resumed)
{
	u64 from = sleeper->due > resumed ? sleeper->due : resumed;
	u64 bound = (HOLD + 2 * MSEC) * slowness();

	check(sleeper->woke, "clock %d, due %llu: lost", sleeper->clock, sleeper->due);
	if (!sleeper->woke)
		return;
	check(sleeper->woke >= sleeper->due, "clock %d: %llu ns early", sleeper->clock,
	      sleeper->due - sleeper->woke);
	check(sleeper->woke <= from + bound, "clock %d, due %lld ns after the resume: %llu ns late",
	      sleeper->clock, (long long)(sleeper->due - resumed), sleeper->woke - from);
}

static void must_write(const char *path, const char *text)
{
	int ret = file_write(path, text);

	if (ret)
		skip("%s: %s", path, strerror(-ret));
}

/* As far as the kernel goes by itself: it stays where LEVEL says for two seconds. */
static void asleep(const char *state, const char *level)
{
	enum { COUNT = ARRAY_SIZE(clocks) * ARRAY_SIZE(delays) * 4 };
	struct sleeper *sleepers = shared_memory(COUNT * sizeof(*sleepers));
	u64 start = now(), resumed[ARRAY_SIZE(clocks)];
	struct shield_cpu before, after;

	shield_set(true);
	pin(0);
	become(FIFO(90));
	for (unsigned int i = 0; i < COUNT; i++) {
		struct sleeper *sleeper = &sleepers[i];

		sleeper->clock = clocks[i % 3];
		sleeper->due = clock_now(sleeper->clock) - now() + start + delays[i / 3 % 3] +
			       i * 10 * USEC;
		sleeper->timerfd = i / 9 % 2;
		ASLEEP(i / 18 ? FIFO(10) : OTHER) nap(sleeper);
	}
	require(now() < start + delays[0], "armed too late");
	shield_read(0, &before);
	spin_until(start + delays[0] + 1 * MSEC);
	must_write(TEST_DELAY, "2");
	must_write(PM_TEST, level);
	must_write(PM_STATE, state);
	for (unsigned int i = 0; i < ARRAY_SIZE(clocks); i++)
		resumed[i] = clock_now(clocks[i]);
	check(resumed[1] > sleepers[4].due, "it woke before timers were due");
	sleep_for(delays[2] + 1 * SEC);

	for (unsigned int i = 0; i < COUNT; i++)
		check_sleeper(&sleepers[i], resumed[i % 3]);
	if (shield_present() && !shield_read(0, &after))
		check(after.masked > before.masked, "no timer was masked");
}

/* Tasks and devices rest, clocks and timers do not. */
TEST(to_idle)
{
	asleep("freeze", "platform");
}

/* Clocks stop, too. */
TEST(to_memory)
{
	asleep("mem", "core");
}
