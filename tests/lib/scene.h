/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The situation of most tests, on test_cpu:
 *
 * - owners wait, each with a timer of its own;
 * - the runner spins over the time at which these expire, counting what
 *   interrupts it (a window), and then gives the CPU up;
 * - a hog, if there is one, always wants to run, and counts how long it did:
 *   how long an owner that ranks above it had to wait after the release.
 */
#ifndef TESTS_SCENE_H
#define TESTS_SCENE_H

#include "api.h"
#include "shield.h"
#include "task.h"
#include "window.h"

struct owner {
	/* Set before scene_run(). */
	struct policy policy;
	const struct api *api;
	u64 offset;			/* of the expiry from scene->start, ns */

	/* Results. */
	pid_t pid;
	int ret;			/* what the call returned */
	u64 due;			/* CLOCK_MONOTONIC */
	u64 woke;			/* 0: never */
	u64 hog_ran;			/* hog's time in user space by then, ns */
	/*
	 * For the CPU once it was woken, if it is an ordinary task: the scheduler may run others of
	 * its class first, as it does without a shield. What a test allows does not include it.
	 */
	u64 waited;
	struct scene *scene;
};

struct scene {
	/* Set before scene_run(); scene_new() fills in what most tests want. */
	struct policy main;		/* FIFO 1: the test itself, once all run */
	struct policy runner;		/* FIFO 90 */
	struct policy hog;		/* OTHER */
	bool has_runner;		/* true */
	bool has_hog;			/* false */
	bool hog_yields;		/* false: after every reading of the clock */
	u64 hog_length;			/* from start; 0: to the end of the scene */
	u64 length;			/* of the window from start, ns: 6 ms */
	/* How the runner gives the CPU up (runs in it; NULL: it blocks). */
	void (*release)(struct scene *scene);
	/* Instead of spinning (runs in the runner; NULL: spin over the window). */
	void (*run)(struct scene *scene);
	void *data;			/* for these two; shared_memory() */

	/* Results. */
	u64 start;
	u64 released;
	u64 hog_ran;
	u64 hog_ran_at_release;
	struct window window;
	pid_t runner_pid, hog_pid;
	unsigned int waiting;		/* for owners and runner */

	unsigned int owners;
	struct owner owner[];
};

/* A scene with this many owners: FIFO 10, clock_nanosleep, expiry after 3 ms. */
struct scene *scene_new(unsigned int owners);

/*
 * Plays the scene: returns when every owner has woken up and the runner has
 * come to its release, or when that has not happened within a second after
 * the window.
 */
void scene_run(struct scene *scene);

/* Every owner was woken by its timer, once, and not early. */
void check_served(const struct scene *scene);

/* Every owner ran at most LIMIT ns after the release. */
void check_prompt(const struct scene *scene, u64 limit);

#endif
