// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A CPU that goes offline with masked timers, and one that comes back. Two CPUs;
 * CPU 1 goes. With instruction-counted time virtual CPUs take turns, so that
 * what is checked here is behaviour, and time only in milliseconds.
 *
 * With the defect "timers that are moved to another CPU get the level of the
 * task that moves them" put in, levels_survive fails; with "the new CPU is
 * programmed for the leftmost timer", or not at all, timers are lost or late.
 */
#define _GNU_SOURCE
#include "file.h"
#include "lib/scene.h"
#include "lib/shield.h"
#include "lib/situation.h"
#include "lib/timers.h"

#include <string.h>
#include <unistd.h>

#define ONLINE "/sys/devices/system/cpu/cpu1/online"

static void set_online(bool online)
{
	int ret = file_write(ONLINE, online ? "1" : "0");

	require(!ret, ONLINE ": %s", strerror(-ret));
}

/* Two CPUs, both there, this process on CPU 0. */
static void prepare(void)
{
	if (access(ONLINE, F_OK))
		skip("no second CPU that can go offline");
	set_online(true);
	pin(0);
}

struct sleeper {
	const struct api *api;
	u64 due, woke;
};

static void sleep_once(struct sleeper *sleeper, u64 expiry)
{
	int ret = sleeper->api->wait(sleeper->api, expiry, &sleeper->due);

	sleeper->woke = now();
	check(!ret, "%s: %s", sleeper->api->name, strerror(-ret));
}

static unsigned int late_or_lost(const struct sleeper *sleepers, unsigned int count, u64 limit)
{
	unsigned int bad = 0;

	for (unsigned int i = 0; i < count; i++) {
		const struct sleeper *sleeper = &sleepers[i];

		check(sleeper->woke, "sleeper %u (%s) was lost", i, sleeper->api->name);
		if (!sleeper->woke)
			continue;
		check(sleeper->woke >= sleeper->due, "%s was early", sleeper->api->name);
		bad += sleeper->woke > limit;
	}
	return bad;
}

/*
 * CPU 1 is busy at FIFO 90 with expired FIFO-10 timers masked when it goes: they
 * and their owners move to CPU 0, where they expire as soon as nothing of
 * higher rank runs: that is when the FIFO-90 task, which moves too, has ended.
 */
TEST(cpu_goes_with_masked_timers)
{
	struct sleeper *sleepers = shared_memory(api_count * sizeof(*sleepers));
	u64 start, end;

	prepare();
	become(FIFO(95));
	start = now() + 40 * MSEC * slowness();
	end = start + 60 * MSEC * slowness();
	for (unsigned int i = 0; i < api_count; i++) {
		sleepers[i].api = &apis[i];
		STARTED(LOW(10 + i), 1) sleep_once(&sleepers[i], start + i * 100 * USEC);
	}
	sleep_for(20 * MSEC * slowness());
	STARTED(FIFO(90), 1) spin_until(end);
	sleep_until(start + 10 * MSEC);
	set_online(false);
	sleep_until(end + 100 * MSEC * slowness());
	check(!late_or_lost(sleepers, api_count, end + 50 * MSEC * slowness()),
	      "some expired long after the last higher task had ended");
	set_online(true);
}

/* It goes with timers that expire later: they expire on time on CPU 0. */
TEST(cpu_goes_with_pending_timers)
{
	struct sleeper *sleepers = shared_memory(api_count * sizeof(*sleepers));
	u64 start;

	prepare();
	become(FIFO(95));
	start = now() + 500 * MSEC * slowness();
	for (unsigned int i = 0; i < api_count; i++) {
		sleepers[i].api = &apis[i];
		STARTED(i % 2 ? LOW(10 + i) : OTHER, 1)
			sleep_once(&sleepers[i], start + i * 100 * USEC);
	}
	sleep_for(50 * MSEC * slowness());
	set_online(false);
	require(now() < start, "starting the sleepers and offlining took too long");
	sleep_until(start + 100 * MSEC * slowness());
	check(!late_or_lost(sleepers, api_count, start + 20 * MSEC * slowness()),
	      "some were late");
	set_online(true);
}

/* On a CPU that came back, the shield works as before. */
TEST(cpu_that_came_back_masks)
{
	struct scene *scene;

	prepare();
	set_online(false);
	set_online(true);
	test_cpu = 1;
	scene = scene_new(5);
	for (unsigned int i = 0; i < scene->owners; i++)
		scene->owner[i].offset = 2 * MSEC + i * 300 * USEC;
	shield_set(false);
	scene_run(scene);
	require_disturbed(&scene->window, "with the shield off");
	shield_set(true);
	scene_run(scene);
	check_undisturbed(&scene->window, "on the CPU that came back");
	check_served(scene);
}

/* And one that came back while the switch had been changed meanwhile. */
TEST(cpu_that_came_back_follows_the_switch)
{
	struct scene *scene;

	prepare();
	set_online(false);
	shield_set(false);
	set_online(true);
	test_cpu = 1;
	scene = scene_new(1);
	scene_run(scene);
	check(scene->window.foreign == 1, "the shield is off, but the timer was masked");
	pin(0);
	set_online(false);
	shield_set(true);
	set_online(true);
	scene_run(scene);
	check_undisturbed(&scene->window, "on the CPU that came back");
	check_served(scene);
}

/*
 * One that came back has no timers, so that this is the only one of a task there. The time since its
 * expiry must not wrap.
 */
TEST(cpu_that_came_back_with_a_timer_that_never_expires)
{
	struct timespec longest = { .tv_sec = INT64_MAX };
	int fd = timerfd_new(CLOCK_MONOTONIC, TFD_NONBLOCK);

	prepare();
	set_online(false);
	set_online(true);
	pin(1);
	require(!timerfd_settime(fd, 0, &(struct itimerspec){ .it_value = longest }, NULL),
		"timerfd_settime: %m");
	spin_until(now() + 5 * TICK);
	check(!timerfd_await(fd), "it has expired");
}
