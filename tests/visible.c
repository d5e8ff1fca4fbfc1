// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rule R10: the state is visible, and what is shown is true. On a stock kernel
 * these tests fail because none of it is there. The module has counters, and does not
 * add to /proc/timer_list.
 */
#define _GNU_SOURCE
#include "file.h"
#include "lib/scene.h"
#include "lib/shield.h"
#include "lib/situation.h"
#include "lib/timers.h"
#include "lib/trace.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct policy policies[] = {
	IDLE, OTHER, NICE(19), NICE(-20), BATCH(0), FIFO(1), FIFO(50), FIFO(99), RR(7),
	DEADLINE(10 * MSEC, 40 * MSEC),
};

TEST(state_file_has_a_line_per_cpu)
{
	static const char header[] = "cpu\tthreshold\tmasked\treleased\tavoided\tlongest_hold_ns\n";
	char text[8192];
	int ret = file_read(SHIELD_STATE, text, sizeof(text));
	struct stat file;

	require(ret >= 0, SHIELD_STATE ": %s", strerror(-ret));
	check(!strncmp(text, header, strlen(header)), "its header is '%.*s'",
	      (int)strcspn(text, "\n"), text);
	require(!stat(SHIELD_STATE, &file), SHIELD_STATE ": %m");
	check((file.st_mode & 0777) == 0400, "its mode is %o", file.st_mode & 0777);
	for (int cpu = 0; cpu < online_cpus(); cpu++) {
		struct shield_cpu state;

		ret = shield_read(cpu, &state);
		check(!ret, "no line of CPU %d: %s", cpu, strerror(-ret));
	}
}

TEST(threshold_is_the_running_tasks_level)
{
	pin(test_cpu);
	for (unsigned int i = 0; i < ARRAY_SIZE(policies); i++)
		ENDED(policies[i]) {
			unsigned int level = shown_level(policy_level(policies[i]));
			struct shield_cpu state;

			require(!shield_read(test_cpu, &state), "no " SHIELD_STATE);
			check(state.threshold == level, "policy %d: threshold %u, level %u",
			      policies[i].policy, state.threshold, level);
		}
}

/* A scene of masked timers that ends before the tick expires them, and what was counted. */
TEST(counters_count)
{
	struct scene *scene = scene_new(8);
	struct shield_cpu before, after;
	u64 hold;

	require(!shield_read(test_cpu, &before), "no " SHIELD_STATE);
	scene->length = 4500 * USEC;
	for (unsigned int i = 0; i < scene->owners; i++)
		scene->owner[i].offset = 1 * MSEC + i * 400 * USEC;
	scene_run(scene);
	check_served(scene);
	require(!shield_read(test_cpu, &after), "no " SHIELD_STATE);
	hold = scene->released - scene->owner[0].due;
	check(after.masked > before.masked, "masked: no more than before");
	check(after.released - before.released >= 8, "released: %llu more, 8 timers were",
	      after.released - before.released);
	check(after.avoided - before.avoided >= 1 && after.avoided - before.avoided <= 8,
	      "avoided: %llu more, 1 to 8 interrupts were", after.avoided - before.avoided);
	check(after.longest_hold >= hold, "longest hold %llu ns, one was %llu", after.longest_hold,
	      hold);
	note("masked %llu released %llu avoided %llu longest hold %llu ns",
	     after.masked - before.masked, after.released - before.released,
	     after.avoided - before.avoided, after.longest_hold);
}

/* Without any masked timer the counters stand still. */
TEST(counters_stand_still)
{
	struct scene *scene = scene_new(4);
	struct shield_cpu before, after;

	for (unsigned int i = 0; i < scene->owners; i++)
		scene->owner[i].policy = FIFO(95);
	/* Once for its own timers: a test's tasks have some, too. */
	scene_run(scene);
	shield_set(false);
	require(!shield_read(test_cpu, &before), "no " SHIELD_STATE);
	scene_run(scene);
	require(!shield_read(test_cpu, &after), "no " SHIELD_STATE);
	check(after.masked == before.masked && after.released == before.released &&
	      after.avoided == before.avoided, "the counters of a shield that is off moved");
}

TEST(timer_list_shows_a_sleepers_level)
{
	pin(test_cpu);
	for (unsigned int i = 0; i < ARRAY_SIZE(policies); i++) {
		u64 expiry = now() + 3600 * SEC + 12345 * i;

		ASLEEP(policies[i]) sleep_until(expiry);
		expect_level("hrtimer_wakeup", expiry, policy_level(policies[i]), "a sleeper");
		end_process(newest);
	}
}

TEST(timer_list_shows_the_level_of_who_armed)
{
	static const char * const functions[] = { "timerfd_tmrproc", "posix_timer_fn" };
	u64 expiry = now() + 3600 * SEC;

	pin(test_cpu);
	ASLEEP(FIFO(33)) {
		timerfd_arm(timerfd_new(CLOCK_MONOTONIC, 0), expiry, 0);
		posix_timer_arm(SIGEV_SIGNAL, 0, expiry + 1, 0);
		pause();
	}
	for (unsigned int i = 0; i < 2; i++)
		expect_level(functions[i], expiry + i, policy_level(FIFO(33)), "armed");
}

TEST(timer_list_shows_the_tick_as_critical)
{
	FILE *list = fopen("/proc/timer_list", "re");
	unsigned int ticks = 0;
	char line[256];

	require(list, "/proc/timer_list: %m");
	while (fgets(line, sizeof(line), list)) {
		if (!strstr(line, " #") || !strstr(line, "tick_nohz_handler"))
			continue;
		ticks++;
		check(strstr(line, "L:255"), "the tick: %.*s", (int)strcspn(line, "\n"), line);
	}
	fclose(list);
	check(ticks > 0, "no tick in /proc/timer_list");
}

/* In the runner: they expire, masked. */
static void spin_and_leave_traces_on(struct scene *scene)
{
	trace_on();
	spin_until(scene->start + scene->length);
}

/* What expires while it is masked does so when the release changes the threshold. */
TEST(tracepoints_trace)
{
	static const char * const events[] = {
		"timershield_threshold", "timershield_expire",
	};
	struct scene *scene = scene_new(20);
	char name[64];

	window_prepare();
	for (unsigned int i = 0; i < ARRAY_SIZE(events); i++) {
		snprintf(name, sizeof(name), "timershield/%s", events[i]);
		require(trace_has(name), "no tracepoint %s", name);
		trace_enable(name);
	}
	for (unsigned int i = 0; i < scene->owners; i++)
		scene->owner[i].policy = LOW(10 + 10 * (i % 2));
	scene->run = spin_and_leave_traces_on;
	scene_run(scene);
	trace_off();
	check_served(scene);
	for (unsigned int i = 0; i < ARRAY_SIZE(events); i++) {
		unsigned int count;

		snprintf(name, sizeof(name), "%s: ", events[i]);
		count = trace_count(name);
		check(count > 0, "%s was never traced", events[i]);
		note("%s: %u times", events[i], count);
	}
}
