// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rule R5: the mask follows the running task at once, whose priority changes by system calls and by
 * inheritance, from this CPU and from another. (A timer that is pending keeps its class: waits.c.)
 *
 * Tests of lateness pass on stock, tests of masking fail there.
 */
#define _GNU_SOURCE
#include "lib/scene.h"
#include "lib/shield.h"
#include "lib/situation.h"
#include "lib/timers.h"
#include "lib/window.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void change(pid_t pid, struct policy policy)
{
	int ret = set_policy(pid, policy);

	require(!ret, "set_policy: %s", strerror(-ret));
}

/* A task raises itself to FIFO 90: a timer below that no longer interrupts it. */
static void raise_oneself_and_spin(struct scene *scene)
{
	become(FIFO(90));
	window_spin(&scene->window, scene->start + scene->length);
}

TEST(raised_by_itself)
{
	struct scene *scene = scene_new(1);

	scene->owner[0].policy = LOW(50);
	scene->runner = LOW(10);
	scene->run = raise_oneself_and_spin;
	scene_run(scene);
	check_undisturbed(&scene->window, "it became FIFO 90");
	check_served(scene);
}

/*
 * The running task is lowered with an expired FIFO-50 timer masked: that one
 * expires at once.
 */
static void check_lowering(struct policy to)
{
	u64 *lowered = shared_memory(sizeof(*lowered));
	struct situation *s = situation_new();

	ASLEEP(HOG_POLICY) sleep_to_expiry(s);
	STARTED(FIFO(90)) {
		spin_until(s->expiry + 2 * MSEC * slowness());
		*lowered = now();
		become(to);
		spin_until(s->hog_ends);
	}
	sleep_until(s->hog_ends + LEAD);
	require(s->woke && *lowered, "lost");
	require(s->woke > *lowered, "FIFO 90 did not keep FIFO 50 from running");
	check(s->woke <= *lowered + PROMPT,
	      "FIFO 50 ran %llu ns after FIFO 90 had lowered itself", s->woke - *lowered);
}

TEST(lowered_by_itself)
{
	static const struct policy to[] = { FIFO(10), RR(49), OTHER, IDLE };

	for (unsigned int i = 0; i < ARRAY_SIZE(to); i++)
		check_lowering(to[i]);
}

/* FIFO 90 on CPU 1 is lowered by a task on CPU 0. */
TEST(lowered_by_another_cpu)
{
	struct situation *s;
	u64 lowered;

	needs_two_cpus();
	test_cpu = 1;
	s = situation_new();
	pin(0);
	ASLEEP(HOG_POLICY) sleep_to_expiry(s);
	s->hog_ends = s->expiry + 80 * MSEC * slowness();
	STARTED(FIFO(90)) spin_until(s->hog_ends);
	sleep_until(s->expiry + 25 * MSEC * slowness());
	require(!s->woke, "FIFO 90 did not keep FIFO 50 from running");
	lowered = now();
	change(newest, BELOW);
	sleep_until(s->hog_ends + LEAD);
	check(s->woke && s->woke <= lowered + TOLERANCE_SMP,
	      "FIFO 50 ran %lld ns after FIFO 90 was lowered", s->woke - lowered);
}

/*
 * A task that may run on both CPUs sleeps on one where FIFO 50 computes when it is due: it runs on
 * the other. By levels its timer waits for the tick, as limits.md says.
 */
TEST(unpinned_sleeper_runs_on_the_other_cpu)
{
	needs_two_cpus();
	test_cpu = 1;
	COMPARE_SMP(s, shield_has_levels() ? TOLERANCE_HELD : TOLERANCE_SMP) {
		ASLEEP(BELOW) {
			cpu_set_t both;

			CPU_ZERO(&both);
			CPU_SET(0, &both);
			CPU_SET(1, &both);
			require(!sched_setaffinity(0, sizeof(both), &both), "affinity: %m");
			sleep_to_expiry(s);
		}
	}
}

/* A lock of the immediate priority ceiling protocol: whoever takes it is FIFO 80 at once. */
static void take_lock_of_ceiling_80(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attributes;
	struct sched_param owner;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_PROTECT);
	pthread_mutexattr_setprioceiling(&attributes, 80);
	require(!pthread_mutex_init(lock, &attributes) && !pthread_mutex_lock(lock),
		"no lock with a ceiling");
	sched_getparam(0, &owner);
	require(owner.sched_priority == 80, "its owner has priority %d", owner.sched_priority);
}

TEST(owner_at_a_ceiling_sleeps_in_time)
{
	COMPARE(s, TOLERANCE) {
		ASLEEP(BELOW) {
			pthread_mutex_t lock;

			take_lock_of_ceiling_80(&lock);
			sleep_to_expiry(s);
		}
	}
}

/* FIFO 50's sleep ends while FIFO 10 computes at its ceiling, and wakes it when that is left. */
TEST(ceiling_that_is_left_releases)
{
	COMPARE(s, TOLERANCE) {
		u64 *left = shared_memory(sizeof(*left));

		ASLEEP(HOG_POLICY) sleep_to_expiry(s);
		ENDED(BELOW) {
			pthread_mutex_t lock;

			sleep_until(s->expiry - MSEC * slowness());
			take_lock_of_ceiling_80(&lock);
			spin_until(s->expiry + MSEC * slowness());
			*left = now();
			pthread_mutex_unlock(&lock);
		}
		require(s->woke > *left, "the ceiling did not keep FIFO 50 from running");
		s->late = s->woke - *left;
	}
}

/*
 * What runs on CPU 1, an ordinary task, rises from there on by a call on CPU 0, or by a lock for
 * which a task on CPU 0 waits: sleepers below it no longer interrupt it.
 */
#define RISE_SLEEPERS 5

static void play_rise(struct window *window)
{
	pthread_mutex_t *mutex = pi_mutex_new();
	pthread_barrier_t *spins = barrier_new();
	bool by_lock = test_argument();
	pid_t spinner;
	u64 start;

	test_cpu = 1;
	pin(0);
	become(FIFO(99));
	window_prepare();
	start = now() + 2 * LEAD;
	for (unsigned int i = 0; i < RISE_SLEEPERS; i++)
		ASLEEP(LOW(30)) sleep_until(start + i * MSEC + 500 * USEC);
	STARTED(OTHER) {
		pthread_mutex_lock(mutex);
		window_spin(window, now() + 100 * USEC);
		pthread_barrier_wait(spins);
		spin_until(start);
		window_spin(window, start + (RISE_SLEEPERS + 1) * MSEC);
		pthread_mutex_unlock(mutex);
		pause();
	}
	spinner = newest;
	pthread_barrier_wait(spins);
	ASLEEP(ABOVE, 0) {
		if (by_lock)
			pthread_mutex_lock(mutex);
		else
			sleep_until(start);
	}
	if (!by_lock)
		change(spinner, FIFO(60));
	require(now() < start, "prepared too late");
	sleep_until(start + 2 * RISE_SLEEPERS * MSEC);
	end_process(spinner);
	while (waitpid(-1, NULL, 0) > 0)
		;
	window_read(window);
}

static void raised_by_another_cpu(void)
{
	struct window *window = shared_memory(sizeof(*window));

	needs_two_cpus();
	needs_a_fast_kernel();
	if (kernel_is_rt() && !shield_has_levels())
		skip("timers of ordinary tasks expire in a thread");
	shield_set(false);
	play_rise(window);
	require_disturbed(window, "with the shield off");
	shield_set(true);
	play_rise(window);
	/* For what the device was set for when it rose. */
	measured(window->foreign <= 1 && !window->expired, "%u interruptions, %u timers expired",
		 window->foreign, window->expired);
}

TEST_OF(raised_by_another_cpu, raised_by_another_cpu, false)
TEST_OF(boosted_by_another_cpu, raised_by_another_cpu, true)
