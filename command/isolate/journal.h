/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What isolating CPUs changed and how it was before, in /run/timershield/journal.
 *
 * The journal is replaced as a whole, before anything is changed: it always names at least all that
 * is changed. Undoing restores each thing whose value is one that the journal says we gave it, so
 * that it can be done again from the start whenever it was interrupted. /run is empty after a
 * reboot, and so is what the journal describes; one of another boot counts as none.
 */
#ifndef TIMERSHIELD_JOURNAL_H
#define TIMERSHIELD_JOURNAL_H

#include "lib/cpus.h"
#include "records.h"

#include <sys/types.h>

#define RUN_DIRECTORY "/run/timershield"
#define JOURNAL_FILE RUN_DIRECTORY "/journal"

/* A cgroup of a process on isolated CPUs, and the one that it came from. */
struct run_group {
	char *name, *origin;
	pid_t adopt;			/* not saved: to be moved there, or 0 */
};

/* A task that did not have the affinity that all tasks start with. */
struct task_record {
	pid_t tid, pid;			/* pid is not saved: 0 if not known */
	unsigned long long start;	/* ticks since boot, tells a reused id */
	struct cpus cpus;
};

#define JOURNAL_RECORDS 4

struct journal {
	bool exists;			/* CPUs are isolated, or were */
	bool changing;			/* a change is, or was, under way */
	bool controller_enabled;	/* by us */
	bool by_affinity;		/* tasks are kept off by their affinities, not by a partition */
	struct cpus procs, irqs;	/* isolated from tasks, from interrupts */
	struct cpus procs_before;	/* the change that is under way */

	struct run_group *runs;
	size_t nr_runs;
	struct task_record *tasks;
	size_t nr_tasks;
	union {
		struct {
			struct records settings;	/* files of CPUs: settings.h */
			struct records values;	/* of the switch of the shield */
			struct records raised;	/* RCU's threads, while a change is under way */
			struct records proved;	/* by prove, until it ends: prove/undo.c */
		};
		struct records records[JOURNAL_RECORDS];
	};
	bool gives;			/* not saved: the switch of the shield is to be */
	int timers;			/* not saved: this mode, or -1: as it was */
};

void journal_free(struct journal *journal);

/* NULL if there is none. */
struct run_group *journal_run(const struct journal *journal, const char *name);
struct task_record *journal_task(const struct journal *journal, pid_t tid,
				 unsigned long long start);

/* The strings are copied. */
void journal_add_run(struct journal *journal, const char *name, const char *origin, pid_t adopt);

void journal_drop_run(struct journal *journal, struct run_group *run);

/*
 * Reads the journal; a missing one, or one of another boot, leaves an empty JOURNAL.
 * Returns 0; -EBADMSG if it is damaged; or -errno.
 */
int journal_load(struct journal *journal);

/* Puts the journal where journal_load() finds it. 0, or -errno after a message. */
int journal_save(const struct journal *journal);

/* The same if something is recorded; else removes the file, and what a killed save left. */
int journal_settle(const struct journal *journal);

/*
 * Creates /run/timershield if need be, and waits until no other timershield changes anything;
 * prints a message if it has to wait. Returns a file descriptor, which holds the lock until it is
 * closed, also by exec() or by the process's end; or -errno after a message.
 */
int journal_lock(void);

/* Its text, which journal.c describes; BOOT identifies this boot. The caller frees it. */
char *journal_text(const struct journal *journal, const char *boot);

/* Returns 0, -ESTALE for another boot, or -EBADMSG; JOURNAL is empty then. */
int journal_parse(struct journal *journal, const char *text, size_t length, const char *boot);

#endif
