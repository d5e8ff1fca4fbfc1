/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the shield changed and how it was before, in /run/timershield/journal.
 *
 * The journal is replaced as a whole, before anything is changed: it always names at
 * least all that is changed. Undoing restores each thing whose value is one that the
 * journal says we gave it, so that it can be done again from the start whenever it
 * was interrupted. /run is empty after a reboot, and so is what the journal
 * describes; one of another boot counts as none.
 */
#ifndef TIMERSHIELD_JOURNAL_H
#define TIMERSHIELD_JOURNAL_H

#include "cpus.h"

#include <stddef.h>
#include <sys/types.h>

#define RUN_DIRECTORY "/run/timershield"
#define JOURNAL_FILE RUN_DIRECTORY "/journal"

enum backend_id { BACKEND_NONE, BACKEND_PROC, BACKEND_CGROUP };

/* A file that holds a set of CPUs. */
struct setting {
	char *path;
	char *original;			/* as it was read, without the newline */
	struct cpus before, wanted;	/* what we wrote last, and write next */
};

/* A cgroup of a process on shielded CPUs, and the one that it came from. */
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

/* The CPUs shielded, and those that were before the change that is under way. */
struct target {
	struct cpus wanted, before;
};

struct journal {
	enum backend_id backend;	/* BACKEND_NONE: there is no journal */
	bool changing;			/* a change is, or was, under way */
	bool controller_enabled;	/* by us */
	struct target procs, irqs;

	struct setting *settings;
	size_t nr_settings;
	struct run_group *runs;
	size_t nr_runs;
	struct task_record *tasks;
	size_t nr_tasks;
	bool irq_threads;		/* not saved: there are, or may be, some */
};

/*
 * Reads the journal; a missing one, or one of another boot, leaves an empty JOURNAL.
 * Returns 0; -EBADMSG if it is damaged, and JOURNAL has then what could be read;
 * or -errno.
 */
int journal_load(struct journal *journal);

/* Puts the journal where journal_load() finds it. 0 or -errno. */
int journal_save(const struct journal *journal);

/* Removes the file, and what a save that was killed left. 0 or -errno. */
int journal_remove(void);

void journal_free(struct journal *journal);

/*
 * The two halves without the file. BOOT is this boot's identity. Parsing returns 0,
 * -ESTALE for another boot, or -EBADMSG with what could be read.
 */
char *journal_text(const struct journal *journal, const char *boot);
int journal_parse(struct journal *journal, const char *text, size_t length, const char *boot);

/* NULL if there is none. */
struct setting *journal_setting(const struct journal *journal, const char *path);
struct run_group *journal_run(const struct journal *journal, const char *name);
struct task_record *journal_task(const struct journal *journal, pid_t tid,
				 unsigned long long start);

/* The strings are copied. */
struct setting *journal_add_setting(struct journal *journal, const char *path,
				    const char *original);
void journal_add_run(struct journal *journal, const char *name, const char *origin, pid_t adopt);
void journal_add_task(struct journal *journal, const struct task_record *record);

void journal_drop_setting(struct journal *journal, struct setting *setting);
void journal_drop_run(struct journal *journal, struct run_group *run);

/* Reads the text of a setting's file: a list, or a mask where it is one. */
int setting_parse(const char *path, const char *text, struct cpus *cpus);

/* What to write to it; the caller frees it. */
char *setting_text(const char *path, const struct cpus *cpus);

const char *backend_name(enum backend_id id);

/* "proc", "cgroup", or "auto" for BACKEND_NONE. 0 or -EINVAL. */
int backend_parse(const char *name, enum backend_id *id);

#endif
