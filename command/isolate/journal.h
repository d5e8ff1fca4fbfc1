/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What isolating CPUs changed and how it was before, in /run/timershield/journal.
 *
 * The journal is replaced as a whole, before anything is changed: it always names at
 * least all that is changed. Undoing restores each thing whose value is one that the
 * journal says we gave it, so that it can be done again from the start whenever it
 * was interrupted. /run is empty after a reboot, and so is what the journal
 * describes; one of another boot counts as none.
 */
#ifndef TIMERSHIELD_JOURNAL_H
#define TIMERSHIELD_JOURNAL_H

#include "lib/cpus.h"

#include <sys/types.h>

/* A file that holds a set of CPUs. */
struct setting {
	char *path;
	char *original;			/* as it was read, without the newline */
	struct cpus before, wanted;	/* what we wrote last, and write next */
};

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

/* What a CPU's fair server had, in ns. */
struct server_record {
	unsigned int cpu;
	unsigned long long runtime;
};

/* What a kernel thread had, and the FIFO priorities that we gave and give it; 0: none. */
struct thread_record {
	pid_t tid;
	unsigned long long start;
	int policy, priority;
	int before, wanted;
};

/* What a file had, and the values that we gave and give it; "": none. */
struct value_record {
	char *path, *original, *before, *wanted;
};

/* The CPUs isolated, and those that were before the change that is under way. */
struct target {
	struct cpus wanted, before;
};

struct irqs;
struct values;
struct priorities;

struct journal {
	bool exists;
	bool changing;			/* a change is, or was, under way */
	bool controller_enabled;	/* by us */
	bool by_affinity;		/* tasks are kept off by their affinities, not by a partition */
	struct target procs, irqs;
	struct cpus lost;		/* not saved: of a partition that no journal describes */

	struct setting *settings;
	size_t nr_settings;
	struct run_group *runs;
	size_t nr_runs;
	struct task_record *tasks;
	size_t nr_tasks;
	struct server_record *servers;
	size_t nr_servers;
	struct thread_record *threads;
	size_t nr_threads;
	struct value_record *values;
	size_t nr_values;
	struct thread_record *raised;	/* RCU's, while a change is under way */
	size_t nr_raised;
	const struct irqs *routed;	/* not saved: to be directed to isolated CPUs */
	struct priorities *priorities;	/* not saved: NULL: those of threads stay as they are */
	const struct values *given;	/* not saved: NULL: those of files stay as they are */
	bool irq_threads;		/* not saved: there are, or may be, some */
};

void journal_free(struct journal *journal);

/* NULL if there is none. */
struct setting *journal_setting(const struct journal *journal, const char *path);
struct run_group *journal_run(const struct journal *journal, const char *name);
struct task_record *journal_task(const struct journal *journal, pid_t tid,
				 unsigned long long start);

/* The strings are copied. */
struct setting *journal_add_setting(struct journal *journal, const char *path,
				    const char *original);
void journal_add_run(struct journal *journal, const char *name, const char *origin, pid_t adopt);

void journal_drop_setting(struct journal *journal, struct setting *setting);
void value_record_free(struct value_record *record);
void journal_drop_run(struct journal *journal, struct run_group *run);

/* Reads the text of a setting's file: a list, or a mask where it is one. */
int setting_parse(const char *path, const char *text, struct cpus *cpus);

/* What to write to it; the caller frees it. */
char *setting_text(const char *path, const struct cpus *cpus);

#endif
