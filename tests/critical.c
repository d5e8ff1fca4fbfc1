// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rule R3, critical by default: what the kernel arms for itself is never
 * masked, whatever runs. Each test plays a scene with the shield off and on and
 * wants the same to happen.
 *
 * They pass on stock. With the kernel's own timers at the level of ordinary tasks
 * the tick stops under the FIFO-99 spinner of the first test, and the guest hangs.
 */
#define _GNU_SOURCE
#include "file.h"
#include "lib/scene.h"
#include "lib/shield.h"
#include "lib/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GROUP "/sys/fs/cgroup/timershield-test"

/* The tick, under a FIFO-99 spinner. */
TEST(tick)
{
	unsigned int ticks[2];

	for (int on = 0; on < 2; on++) {
		struct scene *scene = scene_new(0);

		shield_set(on);
		scene->runner = FIFO(99);
		scene->length = 100 * MSEC;
		scene_run(scene);
		ticks[on] = scene->window.ticks;
	}
	require(ticks[0] >= 9, "%u ticks in 100 ms with the shield off", ticks[0]);
	check(ticks[1] + 1 >= ticks[0] && ticks[1] <= ticks[0] + 1,
	      "%u ticks in 100 ms, %u with the shield off", ticks[1], ticks[0]);
}

/* How long HOG ran while RUNNER spun for LENGTH, ns. */
static u64 progress(struct policy runner, struct policy hog, u64 length)
{
	struct scene *scene = scene_new(0);

	scene->runner = runner;
	scene->has_hog = true;
	scene->hog = hog;
	scene->length = length;
	scene_run(scene);
	return scene->hog_ran_at_release;
}

/* A refill more or less: if it were masked, there would be next to nothing. */
static void check_refilled(struct off_on ran, const char *name)
{
	check(ran.on >= ran.off - ran.off / 5 && ran.on <= ran.off + ran.off / 5,
	      "%s ran %llu ns, %llu ns with the shield off", name, ran.on, ran.off);
}

static void check_progress(struct policy runner, struct policy hog, u64 length,
			   u64 least, const char *name)
{
	u64 off, on;

	shield_set(false);
	off = progress(runner, hog, length);
	require(off >= least, "%s ran %llu ns with the shield off, expected %llu", name, off,
		least);
	shield_set(true);
	on = progress(runner, hog, length);
	check_refilled((struct off_on){ off, on }, name);
}

/* A FIFO-99 spinner may not starve ordinary tasks: their server's timer. */
TEST(ordinary_tasks_are_not_starved)
{
	check_progress(FIFO(99), OTHER, 2200 * MSEC, 40 * MSEC, "SCHED_OTHER under FIFO 99");
}

/* A throttled SCHED_DEADLINE task gets its next budget in time. */
TEST(deadline_budget_is_replenished)
{
	check_progress(FIFO(99), DEADLINE(8 * MSEC, 40 * MSEC), 400 * MSEC, 60 * MSEC,
		       "SCHED_DEADLINE 8/40 ms under FIFO 99");
}

static void join_group(void)
{
	int ret = file_write(GROUP "/cgroup.procs", "0");

	require(!ret, GROUP "/cgroup.procs: %s", strerror(-ret));
}

/* How long a task ran whose group may run 5 ms out of 50, next to a spinner. */
static u64 group_progress(void)
{
	u64 *ran = shared_memory(sizeof(*ran));

	STARTED(OTHER) {
		u64 last = now();

		join_group();
		for (;;) {
			u64 time = now();

			if (time - last <= GAP)
				*ran += time - last;
			last = time;
		}
	}
	pin(test_cpu);
	spin_until(now() + 1000 * MSEC);
	end_process(newest);
	return *ran;
}

TEST(group_bandwidth_is_refilled)
{
	struct off_on ran;

	if (access("/sys/fs/cgroup/cgroup.controllers", F_OK))
		skip("no cgroup2 at /sys/fs/cgroup");
	file_write("/sys/fs/cgroup/cgroup.subtree_control", "+cpu");
	if (mkdir(GROUP, 0700) && errno != EEXIST)
		fail(GROUP ": %m");
	if (file_write(GROUP "/cpu.max", "5000 50000")) {
		rmdir(GROUP);
		skip("the kernel has no CONFIG_CFS_BANDWIDTH");
	}
	ran = off_and_on(group_progress);
	rmdir(GROUP);
	require(ran.off > 50 * MSEC && ran.off < 150 * MSEC,
		"the group ran %llu ns of 100 ms with the shield off", ran.off);
	check_refilled(ran, "the group");
}

/* With HRTICK_DL the scheduler ends a budget by a timer of its own, not by the tick. */
TEST(hrtick_ends_a_budget)
{
	static const char features[] = "/sys/kernel/debug/sched/features";

	if (file_write(features, "HRTICK_DL"))
		skip("no %s: the kernel has no CONFIG_SCHED_DEBUG", features);
	check_progress(FIFO(99), DEADLINE(1 * MSEC, 20 * MSEC), 400 * MSEC, 15 * MSEC,
		       "SCHED_DEADLINE 1/20 ms under FIFO 99");
	file_write(features, "NO_HRTICK_DL");
}

/*
 * Sleeps of a kernel thread, and of a task in a driver (tests/modules/naps.c), end under a FIFO-99
 * spinner as with the shield off, not in a tick.
 */
#define NAPS_MODULE "/lab/modules/naps.ko"

static void load_naps(void)
{
	int ret, file = open(NAPS_MODULE, O_RDONLY | O_CLOEXEC);

	if (file < 0)
		skip("this kernel has no modules");
	pin(test_cpu);
	ret = syscall(SYS_finit_module, file, "", 0);
	require(!ret || errno == EEXIST, NAPS_MODULE ": %m");
	close(file);
}

/* Its start has been chosen, see scene_run(). */
static int nap_in_driver(const struct api *api, u64 expiry, u64 *due)
{
	char text[32];

	*due = expiry;
	snprintf(text, sizeof(text), "%llu", (expiry - now()) / USEC);
	return file_write("/proc/naps", text);
}

TEST(drivers_sleeps_are_not_masked)
{
	static const struct api driver = { "usleep_range", .wait = nap_in_driver };
	unsigned int expired[2];

	load_naps();
	for (int on = 0; on < 2; on++) {
		struct scene *scene = scene_new(2);

		shield_set(on);
		scene->runner = FIFO(99);
		for (unsigned int i = 0; i < scene->owners; i++) {
			scene->owner[i].policy = i ? FIFO(10) : OTHER;
			scene->owner[i].api = &driver;
		}
		scene_run(scene);
		expired[on] = scene->window.expired;
		note("shield %d: %u sleeps ended in time, %u in ticks", on, scene->window.expired,
		     scene->window.held);
	}
	syscall(SYS_delete_module, "naps", 0);
	/* The thread's first nap, and the two of the driver */
	require(expired[0] >= 3, "%u sleeps ended with the shield off", expired[0]);
	check(expired[1] == expired[0], "%u sleeps ended, %u with the shield off", expired[1],
	      expired[0]);
}

/* While a masked timer stands before the tick's, the tick is not late. */
TEST(tick_behind_masked_timers)
{
	struct scene *scene = scene_new(20);

	scene->runner = FIFO(99);
	scene->length = 40 * MSEC;
	for (unsigned int i = 0; i < scene->owners; i++) {
		scene->owner[i].policy = FIFO(1 + i);
		scene->owner[i].offset = 1 * MSEC + i * 1700 * USEC;
	}
	scene_run(scene);
	check_served(scene);
	check(scene->window.ticks >= 9, "%u ticks in 40 ms", scene->window.ticks);
}
