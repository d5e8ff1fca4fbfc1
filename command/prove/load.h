/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What runs next to the loop, on its CPU, in a cgroup of its own: loads of ../loop. */
#ifndef TIMERSHIELD_LOAD_H
#define TIMERSHIELD_LOAD_H

#include "loop/loads.h"

struct load_kind {
	const char *name;		/* in JSON */
	const char *title;
	const char *description;	/* as loads_add() takes it; NULL: none */
	bool timers;			/* what it takes, timers take */
};

/* The first one is nothing: what the others are compared with. */
extern struct load_kind load_kinds[];
extern size_t load_kind_count;

/* From now on only nothing and this load are there. 0, or -EINVAL: no such load or setting. */
int load_choose(const char *description);

/*
 * Starts it on CPU, in the cgroup GROUP (a path, or NULL) unless that takes no real-time
 * task, and waits until all of it is at work. 0, or -errno after a message. The caller calls
 * loads_end() in any case.
 */
int load_start(struct loads *loads, const struct load_kind *kind, unsigned int cpu,
	       const char *group);

#endif
