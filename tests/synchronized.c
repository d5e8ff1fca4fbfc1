// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rule R1, timers that expire together: the highest level expires first, and
 * expiring stops once it has made a task runnable that outranks the rest. So the
 * high-priority task starts as early as if it were alone, and works undisturbed.
 *
 * On a stock kernel 100 timers of one expiry delay the task by 40 us and more.
 * With the defect "expire every timer in the order of its time" put in,
 * the same; with "expire the highest first, but all of them", likewise.
 */
#define _GNU_SOURCE
#include "lib/scene.h"
#include "lib/shield.h"

/* What an interrupt serves of the others at most (R12) */
#define TOLERANCE (20 * USEC)
#define ONE_GO (30 * USEC)
#define WORK (2 * MSEC)

/* In the runner: sleeps until the common expiry, then works. */
static void sleep_and_work(struct scene *scene)
{
	u64 *woke = scene->data;

	sleep_until(scene->start + 3 * MSEC);
	*woke = now();
	window_spin(&scene->window, *woke + WORK);
}

static struct scene *new_scene(unsigned int owners)
{
	struct scene *scene = scene_new(owners);

	scene->run = sleep_and_work;
	scene->length = 3 * MSEC + WORK;
	scene->data = shared_memory(sizeof(u64));
	return scene;
}

/* How late the runner is, ns. */
static u64 lateness(struct scene *scene)
{
	u64 *woke = scene->data;

	scene_run(scene);
	check_served(scene);
	require(*woke, "the runner did not wake up");
	return *woke - (scene->start + 3 * MSEC);
}

/* The reference is the same scene, with the others' expiry after the work. */
static void check_lateness(struct scene *scene, const char *load)
{
	u64 reference, late;

	for (unsigned int i = 0; i < scene->owners; i++)
		scene->owner[i].offset += WORK + 1 * MSEC;
	reference = lateness(scene);
	for (unsigned int i = 0; i < scene->owners; i++)
		scene->owner[i].offset -= WORK + 1 * MSEC;
	late = lateness(scene);
	measured(late <= reference + TOLERANCE, "%s: %llu ns late, %llu ns if alone", load, late,
		 reference);
	check_undisturbed(&scene->window, load);
}

TEST(hundred_sleepers_of_one_priority)
{
	check_lateness(new_scene(100), "100 sleepers");
}

TEST(eighty_sleepers_of_all_priorities_below)
{
	struct scene *scene = new_scene(80);

	for (unsigned int i = 0; i < scene->owners; i++)
		scene->owner[i].policy = LOW(1 + i);
	check_lateness(scene, "80 sleepers");
}

TEST(timers_of_all_apis)
{
	struct scene *scene = new_scene(2 * api_count);

	for (unsigned int i = 0; i < scene->owners; i++)
		scene->owner[i].api = &apis[i % api_count];
	check_lateness(scene, "50 timers of all APIs");
}

TEST(unprivileged_sleepers)
{
	struct scene *scene = new_scene(100);

	scene->main = OTHER;
	for (unsigned int i = 0; i < scene->owners; i++)
		scene->owner[i].policy = OTHER;
	check_lateness(scene, "100 sleepers, SCHED_OTHER");
}

/* They expired a moment before: the higher one is the first to expire. */
TEST(expired_just_before_and_still_waiting)
{
	struct scene *scene = new_scene(100);

	for (unsigned int i = 0; i < scene->owners; i++)
		scene->owner[i].offset = 3 * MSEC - 1;
	check_lateness(scene, "100 sleepers, 1 ns earlier");
}

/*
 * Three priorities at once: each runs before the next lower one. Passes on
 * stock; fails if expiring stops too early and goes on with the lowest.
 */
TEST(each_level_before_the_next_lower_one)
{
	struct scene *scene = scene_new(60);
	u64 last[3] = { 0 };

	scene->has_runner = false;
	for (unsigned int i = 0; i < scene->owners; i++)
		scene->owner[i].policy = FIFO(30 - 10 * (i % 3));
	scene_run(scene);
	check_served(scene);
	for (unsigned int i = 0; i < scene->owners; i++)
		if (scene->owner[i].woke > last[i % 3])
			last[i % 3] = scene->owner[i].woke;
	for (unsigned int i = 0; i < scene->owners; i++)
		for (unsigned int higher = 0; higher < i % 3; higher++)
			check(scene->owner[i].woke > last[higher],
			      "owner %u, FIFO %u, ran before one of FIFO %u", i,
			      30 - 10 * (i % 3), 30 - 10 * higher);
}

#define DL_PERIOD (10 * MSEC)
#define DL_PERIODS 3

/* A SCHED_DEADLINE task that waits for its next period, and 100 sleepers at that instant */
struct deadline_scene {
	u64 expiry;		/* of the sleepers; 0: not known yet */
	u64 alone, among;	/* from one period to the next, and to the one of the sleepers */
};

static u64 next_period(void)
{
	sched_yield();
	return now();
}

/*
 * What wakes it is a timer of the kernel itself, which says nothing of the level: it waits
 * for one go of callbacks at most. On stock it is 50 us late.
 */
TEST(deadline_task_that_waits_for_its_period)
{
	struct deadline_scene *scene = shared_memory(sizeof(*scene));
	s64 late;

	if (online_cpus() > 1)
		skip("a pinned SCHED_DEADLINE task takes a single CPU");
	become(FIFO(99));
	for (int i = 0; i < 100; i++)
		STARTED(LOW(10)) {
			while (!scene->expiry)
				sleep_until(now() + MSEC);
			sleep_until(scene->expiry);
		}
	ENDED(OTHER) {
		u64 first, begin;

		become(DEADLINE(MSEC, DL_PERIOD));
		next_period();
		first = next_period();
		begin = next_period();
		scene->alone = begin - first;
		/* It was woken some microseconds after its period began. */
		scene->expiry = begin + DL_PERIODS * DL_PERIOD - 4 * USEC;
		for (int i = 1; i < DL_PERIODS; i++)
			next_period();
		scene->among = next_period() - begin;
	}
	require(scene->among, "the task did not get through its periods");
	late = scene->among - (DL_PERIODS - 1) * DL_PERIOD - scene->alone;
	measured(late <= (s64)ONE_GO, "%lld ns later than alone", late);
}
