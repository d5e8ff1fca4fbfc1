// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "scene.h"
#include "file.h"
#include "shield.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SETUP (10 * MSEC)		/* until start, and ... */
#define SETUP_PER_OWNER (500 * USEC)	/* ... for each owner; in ticks without ... */
#define SETUP_TICKS 4			/* ... high resolution */
#define AHEAD (10 * MSEC)		/* of start, the runner begins at the earliest */
#define LOST (3 * SEC)			/* after which a timer counts as lost; a module takes 1 s to go */

struct scene *scene_new(unsigned int owners)
{
	struct scene *scene = shared_memory(sizeof(*scene) + owners * sizeof(struct owner));

	scene->main = FIFO(1);
	scene->runner = FIFO(90);
	/* What it computes must not delay an owner. */
	scene->hog = shield_has_levels() ? OTHER : IDLE;
	scene->has_runner = true;
	scene->length = 6 * MSEC;
	scene->owners = owners;
	for (unsigned int i = 0; i < owners; i++) {
		scene->owner[i].policy = LOW(10);
		scene->owner[i].api = api_find("clock_nanosleep");
		scene->owner[i].offset = 3 * MSEC;
		scene->owner[i].scene = scene;
	}
	return scene;
}

static void is_done(struct scene *scene)
{
	if (__atomic_sub_fetch(&scene->waiting, 1, __ATOMIC_RELEASE) == 0)
		wake_all(&scene->waiting);
}

/* How long an ordinary owner has waited for the CPU in all; 0 where the kernel does not count it. */
static u64 waited(const struct owner *owner)
{
	char path[32], text[64];
	u64 time = 0;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", owner->pid);
	if (owner->policy.policy == SCHED_OTHER && file_read(path, text, sizeof(text)) > 0)
		sscanf(text, "%*u %llu", &time);
	return time;
}

static void own(struct owner *owner)
{
	struct scene *scene = owner->scene;
	u64 hog_ran;
	u64 time;

	owner->ret = owner->api->wait(owner->api, scene->start + owner->offset, &owner->due);
	time = now();
	hog_ran = __atomic_load_n(&scene->hog_ran, __ATOMIC_RELAXED);
	owner->hog_ran = hog_ran;
	owner->woke = time;
	owner->waited = waited(owner) - owner->waited;
	is_done(scene);
}

static void hog(struct scene *scene)
{
	u64 end = scene->hog_length ? scene->start + scene->hog_length : UINT64_MAX;
	u64 last = now();

	while (last < end) {
		u64 time = now();

		if (time - last <= GAP)
			__atomic_fetch_add(&scene->hog_ran, time - last, __ATOMIC_RELAXED);
		last = time;
		if (scene->hog_yields)
			sched_yield();
	}
	pause();
}

static void run(struct scene *scene)
{
	/* On Linux 6.1 a fault in its code, on the way to the release, takes 1.8 us. */
	require(!mlockall(MCL_CURRENT), "mlockall: %m");
	/*
	 * Let the test get to where it waits for the end. Else it is in a system call when an
	 * owner is woken; with voluntary preemption that one has to wait for it: 2 us.
	 */
	sleep_for(200 * USEC);
	/* Else it spins for so long, after a long setup, that the kernel gives the hog a share. */
	sleep_until(scene->start - AHEAD * slowness());
	if (scene->run)
		scene->run(scene);
	else
		window_spin(&scene->window, scene->start + scene->length);
	is_done(scene);
	scene->hog_ran_at_release = __atomic_load_n(&scene->hog_ran, __ATOMIC_RELAXED);
	scene->released = now();
	if (scene->release)
		scene->release(scene);
	else
		pause();
}

/* How long it takes to start OWNERS processes and see them sleep. */
static u64 setup_time(unsigned int owners)
{
	/* await_sleep() looks for longer on slow kernels, too. */
	u64 time = (SETUP + owners * SETUP_PER_OWNER * slowness()) * slowness();
	struct timespec tick;

	clock_getres(CLOCK_MONOTONIC, &tick);
	if (tick.tv_nsec > 1)
		time += (owners + 4) * SETUP_TICKS * slowness() * (u64)tick.tv_nsec;
	return time;
}

static void start_owners(struct scene *scene)
{
	scene->waiting = scene->owners + scene->has_runner;
	scene->start = now() + setup_time(scene->owners);
	for (unsigned int i = 0; i < scene->owners; i++) {
		struct owner *owner = &scene->owner[i];

		owner->woke = 0;
		STARTED(owner->policy) own(owner);
		owner->pid = newest;
	}
	for (unsigned int i = 0; i < scene->owners; i++) {
		await_sleep(scene->owner[i].pid);
		scene->owner[i].waited = waited(&scene->owner[i]);
	}
	require(now() < scene->start, "the owners were %llu ns late", now() - scene->start);
}

static void await_end(struct scene *scene)
{
	u64 limit = scene->start + scene->length + LOST * slowness();
	unsigned int left;

	while ((left = __atomic_load_n(&scene->waiting, __ATOMIC_ACQUIRE)))
		if (!wait_while(&scene->waiting, left, limit))
			break;
}

/* Ends the hog and the runner, if they still are. */
static void scene_end(struct scene *scene)
{
	pid_t pids[] = { scene->hog_pid, scene->runner_pid };

	for (unsigned int i = 0; i < ARRAY_SIZE(pids); i++)
		if (pids[i])
			end_process(pids[i]);
	for (unsigned int i = 0; i < scene->owners; i++) {
		if (!scene->owner[i].woke)
			kill(scene->owner[i].pid, SIGKILL);
		waitpid(scene->owner[i].pid, NULL, 0);
	}
	scene->hog_pid = 0;
	scene->runner_pid = 0;
}

void scene_run(struct scene *scene)
{
	pin(test_cpu);
	window_prepare();
	/* Above them all until they have been started, then out of their way. */
	become(FIFO(99));
	start_owners(scene);
	if (scene->has_hog) {
		STARTED(scene->hog) hog(scene);
		scene->hog_pid = newest;
	}
	if (scene->has_runner) {
		STARTED(scene->runner) run(scene);
		scene->runner_pid = newest;
	}
	become(scene->main);
	await_end(scene);
	scene_end(scene);
	become(OTHER);
	if (scene->has_runner) {
		window_read(&scene->window);
		if (!scene->run && scene->owners)
			require(scene->window.begin <= scene->start,
				"the runner began %llu ns late",
				scene->window.begin - scene->start);
	}
}

void check_served(const struct scene *scene)
{
	for (unsigned int i = 0; i < scene->owners; i++) {
		const struct owner *owner = &scene->owner[i];

		if (!owner->woke) {
			fault("owner %u (%s) was never woken", i, owner->api->name);
			continue;
		}
		check(!owner->ret, "owner %u: %s: %s", i, owner->api->name,
		      strerror(-owner->ret));
		check(owner->woke >= owner->due, "owner %u (%s) was woken %llu ns early", i,
		      owner->api->name, owner->due - owner->woke);
	}
}

static bool is_late(const struct scene *scene, const struct owner *owner, u64 limit)
{
	return owner->woke > scene->released + limit + owner->waited;
}

void check_prompt(const struct scene *scene, u64 limit)
{
	for (unsigned int i = 0; i < scene->owners; i++) {
		const struct owner *owner = &scene->owner[i];

		if (!owner->woke)
			continue;
		check(!is_late(scene, owner, limit),
		      "owner %u (%s) ran %llu ns after the release, allowed %llu + %llu", i,
		      owner->api->name, owner->woke - scene->released, limit, owner->waited);
	}
}
