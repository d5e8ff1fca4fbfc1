/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each layer gives: a periodic job that waits by clock_nanosleep() or by
 * libclockfix, next to loads that set timers and loads that take the CPU.
 *
 * Loads and records are those of ../response_loop.
 */
#ifndef LAB_TOGETHER_H
#define LAB_TOGETHER_H

#include "response.h"

#include <stddef.h>

struct together {
	struct run run;
	bool clockfix;		/* else clock_nanosleep() */
	int hogs;		/* ordinary processes that take the CPU, in kernel and user space */
	int spinners;		/* ordinary processes that only compute */
	bool isolate;		/* nothing else may run on the job's CPU */
	struct clockfix_sleeper *sleeper;	/* NULL: clock_nanosleep() */
};

static inline struct together *together_of(struct run *run)
{
	return (struct together *)((char *)run - offsetof(struct together, run));
}

/* hog.c */
int hogs_start(struct run *run);

/* work.c */
int work_run_all(struct run *run);

#endif
