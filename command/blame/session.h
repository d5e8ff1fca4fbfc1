/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the start of the BPF program to the report. */
#ifndef TIMERSHIELD_BLAME_SESSION_H
#define TIMERSHIELD_BLAME_SESSION_H

#include "lib/cpus.h"
#include "report.h"

#include <signal.h>
#include <sys/types.h>

struct session {
	struct blame_config config;
	u64 *steal;			/* of each CPU when it started */
	unsigned long long nmis, smis;	/* then */
	unsigned int cpus;
	bool threads;			/* each has rows of its own */
};

/*
 * Starts the source. config has what the caller wants; CPUS: those to look at, NULL: all. 0, or
 * -errno after a message.
 */
int session_start(struct session *session, const struct cpus *cpus);

/* Adds the threads of a process, or one thread. 0, or -errno after a message. */
int session_add(struct session *session, pid_t pid);

/* From now on it counts. */
void session_go(struct session *session);

/* Takes in what happened, and looks at those who may end soon. 0 or -errno. */
int session_update(struct session *session);

/* From now on it counts no more: the rows of a report then sum to what was taken. */
void session_halt(struct session *session);

/* The report; freed by report_free(). 0, or -errno after a message. */
int session_report(struct session *session, struct report *report);

/* The worst episode of all CPUs, of no length if there was none; the caller frees it. */
struct episode *session_worst(struct session *session, unsigned int *cpu);

void session_stop(struct session *session);

/* Set by Ctrl-C, SIGTERM, SIGHUP and a reader that goes: end, and leave nothing behind. */
extern volatile sig_atomic_t session_interrupted;

void session_catch_signals(void);

#endif
