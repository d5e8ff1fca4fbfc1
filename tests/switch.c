// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rule R7, off is stock: with kernel.timershield=0 new timers interrupt exactly as on a stock kernel.
 * It can be switched at any time, nothing is lost by it, and what is pending leaves from where it is.
 *
 * On a stock kernel they fail because there is no such switch. "flips lose nothing" fails if timers
 * stay where the other state of the switch does not look for them.
 */
#define _GNU_SOURCE
#include "lib/scene.h"
#include "lib/shield.h"
#include "lib/trace.h"

#include <errno.h>
#include <string.h>

#define TIMERS 10
#define ROUNDS 100

/* Each timer of it interrupts the runner on a stock kernel. */
static struct scene *new_scene(void)
{
	struct scene *scene = scene_new(TIMERS);

	if (kernel_is_rt() && !shield_has_levels())
		skip("timers of ordinary tasks expire in a thread");
	for (unsigned int i = 0; i < TIMERS; i++)
		scene->owner[i].offset = 1 * MSEC + i * 300 * USEC;
	return scene;
}

static void require_switch(void)
{
	require(shield_present(), "no " SHIELD_SWITCH);
}

TEST(off_is_stock_to_the_interrupt)
{
	struct scene *scene = new_scene();

	require_switch();
	shield_set(false);
	scene_run(scene);
	check(scene->window.foreign == TIMERS && scene->window.expired == TIMERS,
	      "off: %u interruptions, %u expired; a stock kernel has %u of each",
	      scene->window.foreign, scene->window.expired, TIMERS);
	check_served(scene);
	shield_set(true);
	scene_run(scene);
	check_undisturbed(&scene->window, "on");
	check_served(scene);
}

static void switch_on_and_spin(struct scene *scene)
{
	shield_set(true);
	window_spin(&scene->window, scene->start + scene->length);
}

/* Those that were armed before interrupt as they did; nothing that is armed later does. */
TEST(switching_on_masks_what_is_armed_later)
{
	struct scene *scene = new_scene();

	require_switch();
	if (shield_is_module())
		skip("switching a module on takes longer than the timers run");
	shield_set(false);
	scene->run = switch_on_and_spin;
	scene_run(scene);
	check(scene->window.expired == TIMERS, "%u of the timers armed before expired, not %u",
	      scene->window.expired, TIMERS);
	check_served(scene);
	scene->run = NULL;
	scene_run(scene);
	check_undisturbed(&scene->window, "armed when it was on");
	check_served(scene);
}

static void switch_to_classes_and_spin(struct scene *scene)
{
	spin_until(scene->start + 5 * MSEC);
	window_open(&scene->window);
	shield_set_mode(1);
	spin_until(scene->start + 6 * MSEC);
	window_close(&scene->window);
}

/* From 2 to 1: what is held for a real-time task expires, for an ordinary one it is held on. */
TEST(levels_can_be_given_up)
{
	struct scene *scene = new_scene();

	require_switch();
	shield_needs_levels();
	if (shield_is_module())
		skip("switching a module takes longer than the timers run");
	for (unsigned int i = 0; i < TIMERS / 2; i++)
		scene->owner[i].policy = OTHER;
	scene->run = switch_to_classes_and_spin;
	scene_run(scene);
	check(scene->window.expired == TIMERS / 2, "%u timers expired, expected %u",
	      scene->window.expired, TIMERS / 2);
	check_served(scene);
	scene->run = NULL;
	scene_run(scene);
	check(scene->window.expired == TIMERS / 2, "armed then: %u expired, expected %u",
	      scene->window.expired, TIMERS / 2);
	check_served(scene);
	shield_set(true);
	scene_run(scene);
	check_undisturbed(&scene->window, "masked by level again");
	check_served(scene);
}

/* A task that waits again and again; with which API depends on its number. */
struct waiter {
	const struct api *api;
	unsigned int done;
};

static void wait_again_and_again(struct waiter *waiter)
{
	while (waiter->done < ROUNDS) {
		u64 due;
		int ret = waiter->api->wait(waiter->api, now() + 1500 * USEC, &due);

		require(!ret, "%s: %s", waiter->api->name, strerror(-ret));
		check(now() >= due, "%s was early", waiter->api->name);
		waiter->done++;
	}
}

static void flip(u64 length, int lowest)
{
	u64 end = now() + length;
	int mode = lowest;

	while (now() < end) {
		shield_set_mode(mode);
		mode = mode < shield_highest_mode() ? mode + 1 : lowest;
		sleep_for(170 * USEC);
	}
	shield_set(true);
}

static void check_flips(int lowest)
{
	unsigned int count = 2 * api_count;
	struct waiter *waiters = shared_memory(count * sizeof(*waiters));

	require_switch();
	pin(test_cpu);
	become(FIFO(95));
	for (unsigned int i = 0; i < count; i++) {
		waiters[i].api = &apis[i % api_count];
		STARTED(i % 3 ? FIFO(1 + i) : OTHER) wait_again_and_again(&waiters[i]);
	}
	STARTED(FIFO(60)) {
		for (;;) {
			spin_until(now() + 900 * USEC);
			sleep_for(700 * USEC);
		}
	}
	flip(700 * MSEC, lowest);
	end_process(newest);
	sleep_for(300 * MSEC);
	for (unsigned int i = 0; i < count; i++)
		check(waiters[i].done == ROUNDS, "%s: %u of %u waits ended", waiters[i].api->name,
		      waiters[i].done, ROUNDS);
}

TEST(flips_lose_nothing)
{
	check_flips(0);
}

/* Often: while timers that were armed in either mode are pending or held. */
TEST(changes_of_mode_lose_nothing)
{
	require_switch();
	if (shield_highest_mode() < 2)
		skip("it has but one mode");
	check_flips(1);
}

/*
 * CPU 0: FIFO 60 leaves the writer a millisecond of 20. It switches the shield off later and later in
 * that, so that it is kept from going on at any point. CPU 1: FIFO 80 masks the timer of FIFO 70 for
 * up to 600 us.
 */
TEST(a_writer_that_has_to_wait_makes_nobody_late)
{
	u64 *late = shared_memory(sizeof(*late));

	require_switch();
	shield_needs_levels();
	needs_two_cpus();
	if (shield_is_module())
		skip("a module is unloaded");
	pin(0);
	become(FIFO(95));
	STARTED(FIFO(60), 0) {
		for (;;) {
			spin_until(now() + 19 * MSEC);
			sleep_for(1 * MSEC);
		}
	}
	STARTED(FIFO(80), 1) {
		for (;;) {
			spin_until(now() + 600 * USEC);
			sleep_for(400 * USEC);
		}
	}
	ASLEEP(FIFO(70), 1) {
		for (;;) {
			u64 due = now() + 500 * USEC;

			sleep_until(due);
			if (now() - due > *late)
				*late = now() - due;
		}
	}
	become(OTHER);
	for (u64 offset = 600 * USEC; offset < 1000 * USEC; offset += 10 * USEC) {
		shield_set_mode(2);
		sleep_for(1 * MSEC);
		spin_until(now() + offset);
		shield_set_mode(0);
	}
	measured(*late < TICK, "%llu us late", *late / USEC);
}

TEST(anything_but_a_mode_is_einval)
{
	const char * const bad[] = { "3", "-1", "10", "off", "yes", "0x9", "4294967296" };

	require_switch();
	for (int value = 0; value <= shield_highest_mode(); value++) {
		shield_set_mode(value);
		for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
			int ret = shield_write(bad[i]);

			check(ret == -EINVAL, "writing '%s': %s", bad[i], strerror(-ret));
			check(shield_get() == value, "writing '%s' changed the value", bad[i]);
		}
	}
}

TEST(only_root_writes)
{
	require_switch();
	ENDED(OTHER) {
		int ret;

		become_nobody();
		ret = shield_write("0");
		check(ret == -EACCES || ret == -EPERM, "an unprivileged write: %s", strerror(-ret));
	}
	check(shield_get() > 0, "an unprivileged process switched the shield off");
}
