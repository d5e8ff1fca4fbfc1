// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kernels booted with parameters that leave the shield without effect. To be
 * run with timershield=0 (tests off_*), or with highres=off (tests lowres_*);
 * each skips itself where the kernel was booted otherwise.
 */
#define _GNU_SOURCE
#include "file.h"
#include "lib/scene.h"
#include "lib/shield.h"
#include "lib/timers.h"

#include <string.h>

static bool booted_with(const char *parameter)
{
	char text[2048];

	return file_read("/proc/cmdline", text, sizeof(text)) > 0 && strstr(text, parameter);
}

static void require_boot(const char *parameter)
{
	if (!booted_with(parameter))
		skip("the kernel was not booted with %s", parameter);
	require(shield_present(), "no " SHIELD_SWITCH);
	if (kernel_is_rt())
		skip("a thread serves the timers of ordinary tasks");
}

#define TIMERS 10

static struct scene *play(void)
{
	struct scene *scene = scene_new(TIMERS);

	for (unsigned int i = 0; i < TIMERS; i++)
		scene->owner[i].offset = 1 * MSEC + i * 300 * USEC;
	scene_run(scene);
	check_served(scene);
	return scene;
}

/* Fails on stock: no switch. Fails if the parameter is not looked at. */
TEST(off_from_boot_masks_nothing)
{
	struct scene *scene;

	require_boot("timershield=0");
	check(shield_get() == 0, "the switch reads %d", shield_get());
	scene = play();
	check(scene->window.foreign == TIMERS && scene->window.expired == TIMERS,
	      "%u interruptions, %u served, expected %u of each", scene->window.foreign,
	      scene->window.expired, TIMERS);
}

TEST(off_from_boot_can_be_switched_on)
{
	require_boot("timershield=0");
	shield_set(true);
	check_undisturbed(&play()->window, "switched on after boot");
	shield_set(false);
	check(play()->window.foreign == TIMERS, "switched off again, but timers are masked");
}

/*
 * Timers expire in the tick alone, whatever runs: nothing is masked, so
 * that nothing waits for a release that no interrupt would come for.
 */
TEST(lowres_masks_nothing)
{
	struct scene *scene;

	require_boot("highres=off");
	scene = scene_new(TIMERS);
	scene->length = 20 * MSEC;
	for (unsigned int i = 0; i < TIMERS; i++)
		scene->owner[i].offset = 1 * MSEC + i * 300 * USEC;
	for (int on = 0; on < 2; on++) {
		shield_set(on);
		scene_run(scene);
		check_served(scene);
		check(scene->window.expired == TIMERS,
		      "shield %s: %u timers expired in the tick, expected %u",
		      on ? "on" : "off", scene->window.expired, TIMERS);
	}
}

TEST(lowres_loses_nothing_with_any_api)
{
	struct scene *scene;

	require_boot("highres=off");
	scene = scene_new(api_count);
	scene->length = 20 * MSEC;
	for (unsigned int i = 0; i < api_count; i++) {
		scene->owner[i].api = &apis[i];
		scene->owner[i].policy = i % 2 ? FIFO(1 + i) : OTHER;
		scene->owner[i].offset = 1 * MSEC + i * 200 * USEC;
	}
	scene_run(scene);
	check_served(scene);
	for (unsigned int i = 0; i < api_count; i++)
		check(scene->owner[i].woke <= scene->released + 50 * MSEC * slowness(),
		      "%s: woken %llu ns after the release", apis[i].name,
		      scene->owner[i].woke - scene->released);
}

/* More timers of an ordinary task than one interrupt expires: the tick expires them all. */
TEST(lowres_expires_all_that_is_due)
{
	const unsigned int timers = 256;
	struct timespec at_once = {};
	unsigned int expired = 0;
	sigset_t set;
	u64 first;

	require_boot("highres=off");
	shield_set(true);
	become(OTHER);
	set = block_signal(SIGRTMIN);
	first = now() + 50 * MSEC * slowness();
	for (unsigned int i = 0; i < timers; i++)
		posix_timer_arm(SIGEV_SIGNAL, 0, first, 0);
	spin_until(first + 2 * TICK * slowness());
	while (sigtimedwait(&set, NULL, &at_once) == SIGRTMIN)
		expired++;
	check(expired == timers, "%u of %u timers have expired two ticks later", expired, timers);
}

/* The switch does not matter, but can be thrown all the same. */
TEST(lowres_switch_is_harmless)
{
	struct scene *scene;

	require_boot("highres=off");
	scene = scene_new(TIMERS);
	for (int i = 0; i < 6; i++) {
		shield_set(i % 2);
		scene_run(scene);
		check_served(scene);
	}
}

int main(int argc, char **argv)
{
	return run_tests(argc, argv, TESTS_KEEP_SWITCH);
}
