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
#include "lib/timers.h"

#include <signal.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
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
	u64 expiry;
	u64 due, woke;
	int ret;
};

static void sleep_once(void *argument)
{
	struct sleeper *sleeper = argument;

	sleeper->ret = sleeper->api->wait(sleeper->api, sleeper->expiry, &sleeper->due);
	sleeper->woke = now();
}

static void spin_to(void *argument)
{
	spin_until(*(u64 *)argument);
}

static unsigned int late_or_lost(const struct sleeper *sleepers, unsigned int count, u64 limit)
{
	unsigned int bad = 0;

	for (unsigned int i = 0; i < count; i++) {
		const struct sleeper *sleeper = &sleepers[i];

		check(sleeper->woke, "sleeper %u (%s) was lost", i, sleeper->api->name);
		if (!sleeper->woke)
			continue;
		check(!sleeper->ret, "%s: %s", sleeper->api->name, strerror(-sleeper->ret));
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
	u64 *end = shared_memory(sizeof(*end));
	u64 start;

	prepare();
	become(FIFO(95));
	start = now() + 40 * MSEC * slowness();
	*end = start + 60 * MSEC * slowness();
	for (unsigned int i = 0; i < api_count; i++) {
		sleepers[i].api = &apis[i];
		sleepers[i].expiry = start + i * 100 * USEC;
		spawn(FIFO(10 + i), 1, sleep_once, &sleepers[i]);
	}
	sleep_for(20 * MSEC * slowness());
	spawn(FIFO(90), 1, spin_to, end);
	sleep_until(start + 10 * MSEC);
	set_online(false);
	sleep_until(*end + 100 * MSEC * slowness());
	check(!late_or_lost(sleepers, api_count, *end + 50 * MSEC * slowness()),
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
		sleepers[i].expiry = start + i * 100 * USEC;
		spawn(i % 2 ? FIFO(10 + i) : OTHER, 1, sleep_once, &sleepers[i]);
	}
	sleep_for(50 * MSEC * slowness());
	set_online(false);
	require(now() < start, "starting the sleepers and offlining took too long");
	sleep_until(start + 100 * MSEC * slowness());
	check(!late_or_lost(sleepers, api_count, start + 20 * MSEC * slowness()),
	      "some were late");
	set_online(true);
}

TEST(levels_survive)
{
	struct sleeper *sleepers = shared_memory(3 * sizeof(*sleepers));
	static const struct policy policies[] = {
		{ .policy = SCHED_FIFO, .priority = 33 },
		{ .policy = SCHED_IDLE },
		{ .policy = SCHED_OTHER },
	};
	pid_t pids[3];

	prepare();
	for (unsigned int i = 0; i < 3; i++) {
		sleepers[i].api = api_find("clock_nanosleep");
		sleepers[i].expiry = now() + 3600 * SEC + i;
		pids[i] = spawn(policies[i], 1, sleep_once, &sleepers[i]);
		await_sleep(pids[i]);
	}
	set_online(false);
	for (unsigned int i = 0; i < 3; i++) {
		int level = timer_level("hrtimer_wakeup", sleepers[i].expiry);

		check(level == (int)policy_level(policies[i]),
		      "level %d after its CPU went, expected %u", level,
		      policy_level(policies[i]));
		kill(pids[i], SIGKILL);
	}
	set_online(true);
}

struct reading {
	int fd;
	u64 expiry;
};

static void arm_timerfd(void *argument)
{
	struct reading *reading = argument;

	timerfd_arm(reading->fd, reading->expiry, 0);
}

static void read_timerfd(void *argument)
{
	struct reading *reading = argument;
	u64 count;

	read(reading->fd, &count, sizeof(count));
}

/* A timerfd that ranks with its reader still does when it has moved. */
TEST(readers_level_survives)
{
	static const struct policy policy = { .policy = SCHED_FIFO, .priority = 33 };
	struct reading *reading = shared_memory(sizeof(*reading));
	pid_t reader;
	int level;

	prepare();
	reading->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	reading->expiry = now() + 3600 * SEC;
	waitpid(spawn(OTHER, 1, arm_timerfd, reading), NULL, 0);
	reader = spawn(policy, 0, read_timerfd, reading);
	await_sleep(reader);
	for (unsigned int round = 0; round < 2; round++) {
		level = timer_level("timerfd_tmrproc", reading->expiry);
		check(level == (int)policy_level(policy), "level %d %s its CPU went, expected %u",
		      level, round ? "after" : "before", policy_level(policy));
		set_online(false);
	}
	kill(reader, SIGKILL);
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
