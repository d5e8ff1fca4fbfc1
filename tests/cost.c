// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the module costs where it masks nothing: loaded, switched off, and unloaded, before and
 * after, in one boot.
 * Under instruction-counted time a nanosecond is an instruction.
 *
 * It was seen to fail with a probe of context switches that stays while the shield is off.
 */
#define _GNU_SOURCE
#include "lib/shield.h"
#include "lib/task.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define ROUNDS 501
#define SOON (20 * USEC)
#define LATER (3600 * SEC)

enum state { UNLOADED, LOADED_OFF, ON, UNLOADED_AGAIN, STATES };

/* What ON may cost more than UNLOADED, and the others anyway. */
#define MUCH 3000
#define LITTLE 20

static int timer;

static u64 median(u64 (*measure)(void))
{
	static u64 samples[ROUNDS];

	for (int i = 0; i < ROUNDS; i++)
		samples[i] = measure();
	sort(samples, ROUNDS);
	return samples[ROUNDS / 2];
}

static u64 set_timer(u64 delay)
{
	struct itimerspec setting = { .it_value = to_timespec(delay) };
	u64 start = now();

	require(!timerfd_settime(timer, 0, &setting, NULL), "timerfd: %m");
	return now() - start;
}

static u64 arm(void)
{
	u64 took = set_timer(LATER);

	set_timer(0);
	return took;
}

static u64 cancel(void)
{
	set_timer(LATER);
	return set_timer(0);
}

/* The interrupt, as the task notices it: two looks at the clock are never further apart. */
static u64 expire(void)
{
	u64 last, longest = 0, end;

	set_timer(SOON);
	last = now();
	for (end = last + 2 * SOON; last < end;) {
		u64 time = now();

		if (time - last > longest)
			longest = time - last;
		last = time;
	}
	return longest;
}

/* To a task and back by pipes. */
static int there[2], back[2];

static u64 turn(void)
{
	u64 start = now();
	char byte = 0;

	require(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1, "pipe: %m");
	return now() - start;
}

static u64 turns(struct policy other, bool beside_a_timer)
{
	pid_t sleeper = 0;
	u64 took;

	if (beside_a_timer) {
		ASLEEP(FIFO(5)) sleep_for(LATER);
		sleeper = newest;
	}
	STARTED(other) {
		char byte;

		while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
			;
	}
	took = median(turn);
	end_process(newest);
	if (sleeper)
		end_process(sleeper);
	return took;
}

static u64 same_level(void)
{
	return turns(FIFO(10), true);
}

static u64 other_level(void)
{
	return turns(FIFO(20), false);
}

static u64 other_level_beside_a_timer(void)
{
	return turns(FIFO(20), true);
}

static u64 measure_arm(void)
{
	return median(arm);
}

static u64 measure_cancel(void)
{
	return median(cancel);
}

static u64 measure_expire(void)
{
	return median(expire);
}

/* What rises and falls sleeps, so that its timer follows. */
static u64 change(void)
{
	static int priority = 5;
	u64 start = now();

	priority = 11 - priority;
	require(!set_policy(newest, FIFO(priority)), "sched_setattr: %m");
	return now() - start;
}

static u64 measure_change(void)
{
	u64 took;

	ASLEEP(FIFO(5)) sleep_for(LATER);
	took = median(change);
	end_process(newest);
	return took;
}

#define THREADS 8

static void *wait_for_ever(void *unused)
{
	become(FIFO(9));
	pause();
	return NULL;
}

/* In a process of its own, of real-time threads that count when a timerfd is armed */
static u64 measure_arm_among_threads(void)
{
	u64 *took = shared_memory(sizeof(*took));

	ENDED(FIFO(10)) {
		for (int i = 0; i < THREADS; i++)
			thread_new(wait_for_ever, NULL);
		sleep_for(MSEC);
		*took = median(arm);
	}
	return *took;
}

static const struct {
	const char *name;
	u64 (*measure)(void);
} costs[] = {
	{ "arm a timer", measure_arm },
	{ "cancel it", measure_cancel },
	{ "its interrupt, as the task sees it", measure_expire },
	{ "two switches within a level", same_level },
	{ "two switches between levels", other_level },
	{ "the same with a timer pending", other_level_beside_a_timer },
	{ "change the priority of a task that sleeps", measure_change },
	{ "arm a timer in a process of 8 more threads", measure_arm_among_threads },
};

static void set_state(enum state state)
{
	shield_load(state == LOADED_OFF || state == ON);
	shield_set(state == ON);
}

TEST(of_arming_expiring_and_switching)
{
	u64 took[ARRAY_SIZE(costs)][STATES];

	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	require(timer >= 0 && !pipe(there) && !pipe(back), "%m");
	pin(0);
	become(FIFO(10));
	for (enum state state = 0; state < STATES; state++) {
		set_state(state);
		for (size_t i = 0; i < ARRAY_SIZE(costs); i++)
			took[i][state] = costs[i].measure();
	}
	set_state(ON);
	for (size_t i = 0; i < ARRAY_SIZE(costs); i++) {
		const u64 *t = took[i];

		note("%s: unloaded %llu, off %llu, on %llu, unloaded again %llu", costs[i].name,
		     t[UNLOADED], t[LOADED_OFF], t[ON], t[UNLOADED_AGAIN]);
		check(t[LOADED_OFF] <= t[UNLOADED] + LITTLE, "%s costs more though off",
		      costs[i].name);
		check(t[UNLOADED_AGAIN] <= t[UNLOADED] + LITTLE, "%s costs more after unloading",
		      costs[i].name);
		check(t[ON] <= t[UNLOADED] + MUCH, "%s costs too much", costs[i].name);
	}
}

int main(int argc, char **argv)
{
	return run_tests(argc, argv, TESTS_KEEP_SWITCH);
}
