// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rule R8: ordinary tasks share a level whatever their policy and nice value, every
 * FIFO and RR priority has its own, SCHED_DEADLINE is above these, and the idle task
 * outranks nobody.
 *
 * The tests of masking fail on stock by the interruption that they see. Those of
 * what must not be masked pass on stock; they fail with the first
 * implementation's defects put in: a level for every nice value, and an idle
 * CPU's threshold at that of a SCHED_OTHER task.
 */
#define _GNU_SOURCE
#include "lib/scene.h"
#include "lib/shield.h"

#include <stdio.h>

/* More than an exact clock can differ by, less than a wait for the next tick. */
#define TOLERANCE (10 * USEC)

static struct scene *play(struct policy owner, struct policy runner)
{
	struct scene *scene = scene_new(1);

	scene->owner[0].policy = owner;
	scene->runner = runner;
	scene_run(scene);
	check_served(scene);
	return scene;
}

static void check_masks(struct policy owner, struct policy runner, const char *name)
{
	shield_set(false);
	require_disturbed(&play(owner, runner)->window, name);
	shield_set(true);
	check_undisturbed(&play(owner, runner)->window, name);
}

static void check_does_not_mask(struct policy owner, struct policy runner, const char *name)
{
	struct scene *scene = play(owner, runner);

	/* It may meet the tick. One that is masked does not within this window. */
	check(scene->window.foreign + scene->window.held >= 1, "%s: the timer was masked", name);
}

TEST(nice_values_do_not_mask_each_other)
{
	check_does_not_mask(NICE(19), NICE(-20), "nice 19 under nice -20");
	check_does_not_mask(NICE(1), NICE(0), "nice 1 under nice 0");
	check_does_not_mask(BATCH(19), NICE(-20), "SCHED_BATCH under SCHED_OTHER");
	check_does_not_mask(NICE(19), BATCH(-20), "SCHED_OTHER under SCHED_BATCH");
	check_does_not_mask(NICE(-20), NICE(19), "nice -20 under nice 19");
}

TEST(sched_idle_shares_the_level)
{
	check_does_not_mask(IDLE, OTHER, "SCHED_IDLE under SCHED_OTHER");
	check_does_not_mask(IDLE, NICE(-20), "SCHED_IDLE under nice -20");
	check_does_not_mask(IDLE, BATCH(0), "SCHED_IDLE under SCHED_BATCH");
	check_does_not_mask(IDLE, IDLE, "SCHED_IDLE under SCHED_IDLE");
	check_does_not_mask(OTHER, IDLE, "SCHED_OTHER under SCHED_IDLE");
}

TEST(ordinary_tasks_are_below_fifo_1)
{
	/* As an equal of FIFO 1 the thread that expires soft timers is not outranked. */
	set_softirq_threads(test_cpu, BATCH(0));
	check_masks(NICE(-20), FIFO(1), "nice -20 under FIFO 1");
	check_masks(IDLE, RR(1), "SCHED_IDLE under RR 1");
	set_softirq_threads(test_cpu, OTHER);
}

TEST(every_priority_has_its_own_level)
{
	shield_needs_levels();
	static const int priorities[] = { 1, 2, 31, 32, 49, 63, 64, 98 };

	for (unsigned int i = 0; i < ARRAY_SIZE(priorities); i++) {
		int p = priorities[i];
		char name[64];

		snprintf(name, sizeof(name), "FIFO %d under FIFO %d", p, p + 1);
		check_masks(FIFO(p), FIFO(p + 1), name);
		snprintf(name, sizeof(name), "RR %d under FIFO %d", p, p + 1);
		check_masks(RR(p), FIFO(p + 1), name);
		snprintf(name, sizeof(name), "FIFO %d under RR %d", p, p + 1);
		check_masks(FIFO(p), RR(p + 1), name);
		snprintf(name, sizeof(name), "RR %d under FIFO %d", p, p);
		check_does_not_mask(RR(p), FIFO(p), name);
	}
}

TEST(deadline_is_above_fifo_99)
{
	shield_needs_levels();
	struct policy deadline = DEADLINE(30 * MSEC, 40 * MSEC);

	check_masks(FIFO(99), deadline, "FIFO 99 under SCHED_DEADLINE");
	check_masks(OTHER, deadline, "SCHED_OTHER under SCHED_DEADLINE");
	check_does_not_mask(deadline, FIFO(99), "SCHED_DEADLINE under FIFO 99");
}

static u64 lateness_on_idle_cpu(struct policy policy)
{
	struct scene *scene = scene_new(1);

	scene->has_runner = false;
	scene->owner[0].policy = policy;
	scene_run(scene);
	check_served(scene);
	return scene->owner[0].woke - scene->owner[0].due;
}

TEST(idle_masks_nothing)
{
	static const struct policy owners[] = {
		IDLE, NICE(19), OTHER, BATCH(0), FIFO(1), FIFO(99), RR(1),
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(owners); i++) {
		u64 off, on;

		shield_set(false);
		lateness_on_idle_cpu(owners[i]);
		off = lateness_on_idle_cpu(owners[i]);
		shield_set(true);
		on = lateness_on_idle_cpu(owners[i]);
		check(on <= off + TOLERANCE, "owner %u on an idle CPU: %llu ns late, off %llu", i, on,
		      off);
	}
}

/*
 * Timers on four clocks, whose readings are decades apart, expire in an order
 * that has nothing to do with these. Each is on time while a lower task runs.
 */
TEST(clocks_are_compared_by_their_offsets)
{
	static const char * const names[] = {
		"clock_nanosleep", "clock_nanosleep_realtime", "clock_nanosleep_boottime",
		"clock_nanosleep_tai",
	};

	for (unsigned int first = 0; first < ARRAY_SIZE(names); first++) {
		struct scene *scene = scene_new(ARRAY_SIZE(names));

		scene->runner = FIFO(50);
		for (unsigned int i = 0; i < scene->owners; i++) {
			struct owner *owner = &scene->owner[i];

			owner->api = api_find(names[(first + i) % ARRAY_SIZE(names)]);
			owner->policy = FIFO(80 - i);
			owner->offset = 1 * MSEC + i * 700 * USEC;
		}
		scene_run(scene);
		check_served(scene);
		for (unsigned int i = 0; i < scene->owners; i++) {
			const struct owner *owner = &scene->owner[i];

			check(owner->woke <= owner->due + PROMPT, "%s, number %u: %lld ns late",
			      owner->api->name, i, owner->woke - owner->due);
		}
	}
}

/*
 * A timer that has not yet expired stops nothing, and the device stays programmed: the highest
 * level's timer is far away; lower ones expire, each alone and all on time, then the high one.
 */
TEST(a_pending_high_timer_stops_nothing)
{

	for (int busy = 0; busy < 2; busy++) {
		struct scene *scene = scene_new(10);

		scene->runner = FIFO(2);
		scene->has_runner = busy;
		scene->length = 12 * MSEC;
		for (unsigned int i = 0; i < scene->owners; i++) {
			scene->owner[i].policy = FIFO(i ? 10 + i : 95);
			scene->owner[i].offset = i ? 1 * MSEC + i * 500 * USEC : 9 * MSEC;
		}
		scene_run(scene);
		check_served(scene);
		for (unsigned int i = 0; i < scene->owners; i++) {
			const struct owner *owner = &scene->owner[i];

			check(owner->woke <= owner->due + PROMPT,
			      "%s: owner %u was %lld ns late, allowed %llu",
			      busy ? "under FIFO 2" : "idle", i, owner->woke - owner->due, PROMPT);
		}
	}
}

/*
 * The same with many levels at once: some expired, some not, and after each
 * expiry the next is on time.
 */
TEST(expired_and_pending_levels_mixed)
{
	struct scene *scene = scene_new(40);

	scene->has_runner = false;
	for (unsigned int i = 0; i < scene->owners; i++) {
		scene->owner[i].policy = FIFO(1 + (i * 37) % 97);
		scene->owner[i].offset = 1 * MSEC + (i * 23 % 40) * 200 * USEC;
	}
	scene_run(scene);
	check_served(scene);
	for (unsigned int i = 0; i < scene->owners; i++) {
		const struct owner *owner = &scene->owner[i];

		/* A tick may come first. */
		check(owner->woke <= owner->due + PROMPT, "FIFO %d was %lld ns late",
		      owner->policy.priority, owner->woke - owner->due);
	}
}

/*
 * SCHED_DEADLINE tasks, whose priority is below 0, wait with every API. On stock this passes; where
 * that is an index, KASAN (debug kernel) reports it, and timers of the task are lost.
 */
TEST(deadline_tasks_wait_with_every_api)
{
	/* Else FIFO 99 outranks the thread that expires soft timers, for whomever. */
	set_softirq_threads(test_cpu, FIFO(99));
	for (unsigned int i = 0; i < api_count; i++) {
		struct scene *scene = scene_new(1);

		scene->runner = FIFO(99);
		scene->owner[0].policy = DEADLINE(5 * MSEC, 20 * MSEC);
		scene->owner[0].api = &apis[i];
		scene_run(scene);
		check_served(scene);
		check(scene->window.foreign + scene->window.held > 0,
		      "%s: a SCHED_DEADLINE task's timer was masked by FIFO 99", apis[i].name);
	}
	set_softirq_threads(test_cpu, OTHER);
}
