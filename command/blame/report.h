/* SPDX-License-Identifier: GPL-2.0-or-later */
/* blame's figures in the words of the people who read them. */
#ifndef TIMERSHIELD_BLAME_REPORT_H
#define TIMERSHIELD_BLAME_REPORT_H

#include "source.h"

#include <stdbool.h>

enum masked { MASKED_NO, MASKED_YES, MASKED_UNKNOWN };

struct culprit {
	const char *kind;		/* for programs */
	char *name;			/* process and thread, function, interrupt ... */
	char *rank;			/* "FIFO 80"; "" if it has none */
	char *how;			/* how its timer was armed, what it was waiting for */
	const char *function;		/* "" if there is none or its name is not known */
	char *unit;			/* "" if it has none */
	char *remedy;			/* a command; NULL if we know none */
	enum masked masked;
	u32 tid, process;
	u64 count, total, longest;
};

struct loser {
	char *name, *rank;
	struct blame_victim victim;
	u64 steal;			/* part of taken */
	struct culprit *culprits;	/* the worst first; their totals sum to taken */
	size_t count;
};

struct report {
	struct loser *losers;		/* the one that lost most first */
	size_t count;
	struct blame_lost lost;
	u64 lost_events;
	const char *source;
	u64 elapsed;			/* ns */
	bool realtime;			/* only real-time tasks were looked at */
	u64 interrupt_overhead, switch_overhead;
};

/* Makes sense of FIGURES; steal: ns taken by the hypervisor from each CPU, of CPUS. */
void report_make(struct report *report, const struct blame_figures *figures,
		 const u64 *steal, unsigned int cpus);
void report_free(struct report *report);

const char *masked_text(enum masked masked);

#endif
