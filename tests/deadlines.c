// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kernel/patches/VERSION-edf: while a job of a SCHED_DEADLINE task runs, no sleep that
 * ends in a job with a later deadline interrupts its CPU; one that ends in a job with an
 * earlier deadline does. With the shield alone the tests of a later deadline, of many
 * later ones, and of the hold fail; the others test what must not be masked.
 */
#define _GNU_SOURCE
#include "lib/scene.h"
#include "lib/shield.h"

#define SHORT DEADLINE(1 * MSEC, 20 * MSEC)
#define LONG DEADLINE(1 * MSEC, 60 * MSEC)
#define ON_TIME (20 * USEC)

/*
 * A scene whose runner is a deadline task, too. Its job begins 10 ms before the start
 * and does not use up its runtime.
 */
static struct scene *jobs_new(unsigned int owners, u64 period)
{
	struct scene *scene = scene_new(owners);

	scene->runner = DEADLINE(19 * MSEC, period);
	for (unsigned int i = 0; i < owners; i++)
		scene->owner[i].policy = LONG;
	return scene;
}

TEST(later_deadline_is_masked)
{
	u64 bound = release_bound(api_find("clock_nanosleep"), LONG);
	struct scene *scene = jobs_new(1, 30 * MSEC);

	shield_set(false);
	scene_run(scene);
	require_disturbed(&scene->window, "later deadline");
	check_served(scene);

	shield_set(true);
	scene_run(scene);
	check_undisturbed(&scene->window, "later deadline");
	check_served(scene);
	check_prompt(scene, bound);
}

/* Fails if all sleeps of deadline tasks are masked, or the keys are not compared. */
TEST(earlier_deadline_is_not_masked)
{
	struct scene *scene = jobs_new(1, 90 * MSEC);
	struct owner *urgent = &scene->owner[0];

	urgent->policy = SHORT;
	scene_run(scene);
	check_served(scene);
	check(urgent->woke <= urgent->due + ON_TIME, "the earlier deadline ran %llu ns late",
	      urgent->woke - urgent->due);
}

/* Many later ones, and among them, expiring after most, the one that matters. */
TEST(earlier_among_later_ones_is_on_time)
{
	struct scene *scene = jobs_new(33, 45 * MSEC);
	struct owner *urgent = &scene->owner[32];

	for (unsigned int i = 0; i < 32; i++) {
		scene->owner[i].policy = DEADLINE(100 * USEC, (60 + i) * MSEC);
		scene->owner[i].offset = 500 * USEC + i * 90 * USEC;
	}
	urgent->policy = SHORT;
	urgent->offset = 2810 * USEC;
	scene_run(scene);
	check_served(scene);
	check(urgent->woke <= urgent->due + ON_TIME, "the earlier deadline ran %llu ns late",
	      urgent->woke - urgent->due);
	check(scene->window.foreign == 1 && scene->window.expired == 1,
	      "%u interruptions, %u expired, expected the earlier deadline alone",
	      scene->window.foreign, scene->window.expired);
}

/* What is not a sleep has no deadline of its own: it is never masked by one. */
TEST(timerfd_is_not_masked)
{
	struct scene *scene = jobs_new(1, 30 * MSEC);

	scene->owner[0].api = api_find("timerfd");
	scene_run(scene);
	check_served(scene);
	check(scene->window.foreign == 1 && scene->window.expired == 1,
	      "%u interruptions, %u expired, expected one each",
	      scene->window.foreign, scene->window.expired);
}

/* Rule R11: in a job longer than a tick, the tick expires what has been held for one. */
TEST(hold_is_bounded)
{
	struct scene *scene = jobs_new(1, 50 * MSEC);
	struct shield_cpu state;

	scene->runner.runtime = 40 * MSEC;
	scene->length = 4 * TICK;
	scene_run(scene);
	check(scene->window.held == 1 && !scene->window.expired,
	      "%u expired in a tick, %u elsewhere, expected one in a tick",
	      scene->window.held, scene->window.expired);
	check_served(scene);
	require(!shield_read(test_cpu, &state), "no /proc/timershield");
	check(state.longest_hold <= HOLD + ON_TIME, "held for %llu ns", state.longest_hold);
}

/* Once a job has used up its runtime, which a tick finds, what it masked is released. */
TEST(throttled_job_releases)
{
	struct scene *scene = jobs_new(1, 30 * MSEC);
	struct owner *owner = &scene->owner[0];

	scene->runner.runtime = 12 * MSEC;
	scene->length = 20 * MSEC;
	owner->offset = 1 * MSEC;
	scene_run(scene);
	check_served(scene);
	check(owner->woke <= owner->due + TICK + 2 * MSEC, "ran %llu ns late",
	      owner->woke - owner->due);
}
