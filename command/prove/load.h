/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What runs next to the loop, on its CPU: processes of the user nobody, in a cgroup of
 * their own. They end with the process that started them, however that ends.
 */
#ifndef TIMERSHIELD_LOAD_H
#define TIMERSHIELD_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LOAD_PROCESSES 2		/* at most */

struct load_kind {
	const char *name;		/* in JSON */
	const char *title;
	unsigned int processes;
	bool timers;			/* what it takes, timers take */
	bool realtime;			/* FIFO 70; else ordinary */
	/* Sets everything up, calls load_ready(), and never returns. GRID: see control_loop.h. */
	void (*run)(uint64_t grid);
};

/* The first one is nothing: what the others are compared with. */
extern const struct load_kind load_kinds[];
extern const size_t load_kind_count;

struct load {
	pid_t pids[LOAD_PROCESSES];
	unsigned int count;
};

/*
 * Starts it on CPU, in the cgroup GROUP (a path, or NULL) unless that takes no real-time
 * task, and waits until all of it is at work. 0, or -errno after a message.
 */
int load_start(struct load *load, const struct load_kind *kind, unsigned int cpu,
	       uint64_t grid, const char *group);

/* Whether one of its processes has ended. */
bool load_has_ended(const struct load *load);

/* Kills its processes and waits for their end. */
void load_stop(struct load *load);

#endif
