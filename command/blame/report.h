/* SPDX-License-Identifier: GPL-2.0-or-later */
/* blame's figures in the words of the people who read them. */
#ifndef TIMERSHIELD_BLAME_REPORT_H
#define TIMERSHIELD_BLAME_REPORT_H

#include "source.h"
#include "task_info.h"

struct culprit {
	struct blame_row row;		/* of several threads: sums, and who has most of them */
	const struct task_info *task;	/* NULL: it is none */
	u64 most;			/* of the total: that of whoever has most */
	enum masked masked;
	bool enables;			/* the stack begins where interrupts are switched on */
	u32 tid, pid;			/* 0: several, or none */
	u32 threads, processes;		/* in this row */
	const char *kind;		/* for programs */
	char *name;			/* process and thread, function, interrupt ... */
	char *how;			/* how its timer was armed, what it was waiting for */
	char *level;			/* "FIFO 80"; "" if it has none */
	const char *function;		/* "" if there is none or its name is not known */
	char *stack;			/* "write < ksys_write": where it was; "" if not known */
	const char *unit;		/* "" if it has none */
	char *remedy;			/* a command; NULL if we know none */
};

struct sleep_report {
	char *name;
	u64 total;
};

struct victim_report {
	char *name, *level;
	u32 id;				/* as struct blame_victim has it */
	struct victim sums;
	u64 steal;			/* part of taken */
	struct jobs jobs;		/* count 0: none were found */
	u64 median;			/* of their own work */
	struct culprit *culprits;	/* the worst first; their totals sum to taken */
	size_t count;
	u64 slept;
	struct sleep_report *sleeps;
	size_t sleep_count;
};

struct report {
	struct victim_report *victims;		/* the one that lost most first */
	size_t count;
	struct blame_lost lost;
	u64 lost_events;
	u64 elapsed, until;		/* ns; the end by CLOCK_MONOTONIC */
	u64 nmis, smis;			/* meanwhile, on all CPUs and on one */
	bool smis_known;
	bool realtime;			/* only real-time tasks were looked at */
	u64 over;			/* when a job is late; 0: when the next one is due */
	u64 interrupt_overhead, switch_overhead;
};

/*
 * Makes sense of FIGURES; steal: ns taken by the hypervisor from each CPU, of CPUS. A row is a
 * process, or with THREADS a thread; those of kernel threads and interrupts are rows of their own.
 */
void report_make(struct report *report, const struct blame_figures *figures, bool threads,
		 const u64 *steal, unsigned int cpus);
void report_free(struct report *report);

/* Whether the shield would keep this row from this victim. */
enum masked blame_would_mask(const struct blame_victim *victim, const struct blame_row *row);

const char *masked_text(enum masked masked);

#endif
