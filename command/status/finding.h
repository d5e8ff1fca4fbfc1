/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What "status" finds: sentences, how bad each is, and the command that mends it. */
#ifndef TIMERSHIELD_FINDING_H
#define TIMERSHIELD_FINDING_H

#include "isolate/isolation.h"
#include "isolate/leftovers.h"
#include "lib/task.h"

/* From the worst to the best; the order in which they are shown. */
enum severity { FINDING_BAD, FINDING_WARNING, FINDING_UNKNOWN, FINDING_NOTE, FINDING_GOOD };

struct finding {
	enum severity severity;
	const char *id;			/* stable, for scripts */
	char *text;			/* a plain sentence */
	char *mend;			/* a command or what to do; "" if there is nothing */
};

struct findings {
	struct finding *items;
	size_t count;
};

/* What the checks look at. */
struct inspection {
	struct findings findings;
	struct isolation isolation;
	struct tasks tasks;
	struct leftovers unmoved;
	struct cpus watched;		/* isolated CPUs, or all that are online if there are none */
};

const char *severity_name(enum severity severity);

/* MEND, a command or "", is copied; FORMAT and what follows make the text. */
void finding_add(struct findings *findings, enum severity severity, const char *id,
		 const char *mend, const char *format, ...) __printf(5, 6);
void findings_sort(struct findings *findings);
void findings_free(struct findings *findings);

/* "WHAT is unknown: PATH: the reason"; ERROR, a -errno, is why PATH cannot be read. */
void finding_unknown(struct findings *findings, const char *id, const char *what,
		     const char *path, int error);

/* Each adds at least one finding, unless the machine has nothing of the kind. */
void check_preemption(struct inspection *inspection);
void check_timers(struct inspection *inspection);
void check_throttling(struct inspection *inspection);
void check_fair_server(struct inspection *inspection);
void check_clock_source(struct inspection *inspection);
void check_steering(struct inspection *inspection);
void check_resolution(struct inspection *inspection);
void check_idle_states(struct inspection *inspection);
void check_governor(struct inspection *inspection);
void check_siblings(struct inspection *inspection);
void check_tick(struct inspection *inspection);
void check_irqbalance(struct inspection *inspection);
void check_journal(struct inspection *inspection);
void check_isolation(struct inspection *inspection);
void check_settings(struct inspection *inspection);
void check_limits(struct inspection *inspection);
void check_unprivileged(struct inspection *inspection);
void check_fieldbuses(struct inspection *inspection);

/* Interfaces that PID's raw sockets use, or any fieldbus's (0), next to a task of this PRIORITY. */
void check_network(struct inspection *inspection, pid_t pid, int priority);

/* Of one process; takes 0.1 s. 0, or -ESRCH if it has ended. */
int check_process(struct inspection *inspection, pid_t pid);

/* What goes on now: these wait for 0.1 s, together. */
void check_activity(struct inspection *inspection);

#endif
