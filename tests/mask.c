// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rule R1, mask: while a task runs, no timer that ranks below it interrupts its
 * CPU, whatever API armed it; and it expires at once, once, and not early
 * when the task gives the CPU up.
 *
 * Every test of masking first plays the same scene with the shield off, where
 * the interruption must be seen. On a stock kernel they fail with "interrupted
 * 1 times by timers below it".
 */
#define _GNU_SOURCE
#include "lib/scene.h"
#include "lib/shield.h"
#include "lib/timers.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* One API: FIFO 10 waits with it, FIFO 90 spins over the expiry. */
static void mask_api(const struct api *api)
{
	struct scene *scene = scene_new(1);

	scene->owner[0].api = api;
	shield_set(false);
	scene_run(scene);
	require_disturbed(&scene->window, api->name);
	check_served(scene);

	shield_set(true);
	scene_run(scene);
	check_undisturbed(&scene->window, api->name);
	check_served(scene);
	check_prompt(scene, PROMPT);
	note("%s: after release %llu ns", api->name, scene->owner[0].woke - scene->released);
}

static void api_is_masked(void)
{
	mask_api(&apis[test_argument()]);
}

TEST(ntsync)
{
	if (access("/dev/ntsync", F_OK))
		skip("the kernel has no ntsync");
	mask_api(&ntsync_api);
}

/* All of them together, at 50 priorities, expiring one after the other. */
TEST(all_apis_at_many_priorities_are_masked)
{
	unsigned int count = 2 * api_count;
	struct scene *scene = scene_new(count);

	scene->length = 20 * MSEC;
	for (unsigned int i = 0; i < count; i++) {
		scene->owner[i].policy = LOW(1 + i);
		scene->owner[i].api = &apis[i % api_count];
		scene->owner[i].offset = 2 * MSEC + i * 200 * USEC;
	}
	shield_set(false);
	scene_run(scene);
	/* On PREEMPT_RT one interruption wakes a thread, which cannot run, for all ordinary tasks. */
	require(scene->window.foreign >= (kernel_is_rt() && !shield_has_levels() ? 1 : count / 2),
		"with the shield off %u interruptions by %u timers", scene->window.foreign,
		count);
	shield_set(true);
	scene_run(scene);
	check_undisturbed(&scene->window, "50 timers");
	check_served(scene);
}

/*
 * A timer that ranks as high as the running task, or higher, is not masked.
 * Passes on stock; fails with the threshold one too high (level <= threshold
 * masked), or with everything masked.
 */
TEST(same_and_higher_levels_are_not_masked)
{
	static const int priorities[] = { 50, 51, 90, 99 };

	for (unsigned int i = 0; i < ARRAY_SIZE(priorities); i++) {
		struct scene *scene = scene_new(1);
		struct owner *owner = &scene->owner[0];

		scene->runner = FIFO(50);
		owner->policy = FIFO(priorities[i]);
		scene_run(scene);
		/* It may meet the tick. */
		check(scene->window.foreign + scene->window.held == 1 &&
		      scene->window.expired + scene->window.held == 1,
		      "FIFO %d: %u interruptions, %u expired, expected one each",
		      priorities[i], scene->window.foreign, scene->window.expired);
		check_served(scene);
		if (priorities[i] > 50)
			check(owner->woke <= owner->due + PROMPT,
			      "FIFO %d ran %llu ns late, allowed %llu", priorities[i],
			      owner->woke - owner->due, PROMPT);
	}
}

/*
 * The first timer to expire is no longer the next event: a masked one stands
 * before it. The higher one is on time, and its interrupt expires nothing else.
 */
TEST(higher_timer_behind_masked_ones_is_on_time)
{
	struct scene *scene = scene_new(9);
	struct owner *high = &scene->owner[8];

	for (unsigned int i = 0; i < 8; i++) {
		scene->owner[i].policy = LOW(10 + i);
		scene->owner[i].offset = 1 * MSEC + i * 400 * USEC;
	}
	high->policy = FIFO(95);
	high->offset = 3300 * USEC;
	scene_run(scene);
	/* As in check_undisturbed(). */
	check(scene->window.foreign <= 1u + kernel_is_rt() && scene->window.expired == 1,
	      "%u interruptions, %u expired, expected the higher timer alone",
	      scene->window.foreign, scene->window.expired);
	check_served(scene);
	check(high->woke <= high->due + PROMPT, "FIFO 95 ran %llu ns late, allowed %llu",
	      high->woke - high->due, PROMPT);
}

static s64 expirations(int fd)
{
	u64 count;

	return read(fd, &count, sizeof(count)) == sizeof(count) ? (s64)count : -errno;
}

/* Arms FD for EXPIRY at FIFO 10 and spins, at FIFO 90, until half a ms after it. */
static void mask_timerfd(int fd, u64 expiry, struct window *window)
{
	pin(test_cpu);
	become(FIFO(90));
	STARTED(LOW(10)) timerfd_arm(fd, expiry, 0);
	sleep_for(2 * MSEC);
	require(now() < expiry, "armed too late");
	window_spin(window, expiry + 500 * USEC);
}

/* A masked, expired timer that is cancelled never fires. */
TEST(cancelled_while_masked_never_fires)
{
	int fd = timerfd_new(CLOCK_MONOTONIC, TFD_NONBLOCK);
	struct window window;

	window_prepare();
	mask_timerfd(fd, now() + 4 * MSEC, &window);
	timerfd_arm(fd, 0, 0);
	sleep_for(5 * MSEC);
	window_read(&window);
	check_undisturbed(&window, "timerfd");
	check(expirations(fd) == -EAGAIN, "the cancelled timer fired");
}

/* A masked, expired timer that is armed anew fires once, at its new time. */
TEST(rearmed_while_masked_fires_once)
{
	int fd = timerfd_new(CLOCK_MONOTONIC, TFD_NONBLOCK);
	struct window window;
	u64 again;

	window_prepare();
	mask_timerfd(fd, now() + 4 * MSEC, &window);
	again = now() + 3 * MSEC;
	timerfd_arm(fd, again, 0);
	sleep_until(again - 500 * USEC);
	check(expirations(fd) == -EAGAIN, "fired before its new time");
	sleep_until(again + 500 * USEC);
	check(expirations(fd) == 1, "did not fire once at its new time");
	window_read(&window);
	check_undisturbed(&window, "timerfd");
}

#define MAX_TESTS 64

int main(int argc, char **argv)
{
	static struct test tests[MAX_TESTS];

	for (unsigned int i = 0; i < api_count; i++) {
		tests[i] = (struct test){ apis[i].name, api_is_masked, i, .order = -1 };
		add_test(&tests[i]);
	}
	return run_tests(argc, argv, 0);
}
