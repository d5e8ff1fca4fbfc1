// SPDX-License-Identifier: GPL-2.0-or-later
#include "cgroup.h"
#include "file.h"
#include "task.h"

#include <stdlib.h>
#include <string.h>

struct search {
	const struct journal *journal;
	const struct cpus *shielded;
};

static int elsewhere(const struct task *task, void *argument)
{
	const struct search *search = argument;
	const struct task_record *record = journal_task(search->journal, task->tid, task->start);

	return !record || !cpus_subset(&record->cpus, search->shielded);
}

void cgroup_plan_adoption(struct journal *journal, const struct cpus *procs)
{
	struct search search = { journal, procs };

	for (size_t i = 0; i < journal->nr_tasks && !cpus_empty(procs); i++) {
		const struct task_record *record = &journal->tasks[i];
		char *name, *group;

		if (record->tid != record->pid || !cpus_subset(&record->cpus, procs) ||
		    task_for_each_thread(record->pid, elsewhere, &search))
			continue;
		name = format("run-%d", record->pid);
		group = cgroup_of(record->pid);
		if (group && !cgroup_is_ours(group) && !journal_run(journal, name))
			journal_add_run(journal, name, group, record->pid);
		free(group);
		free(name);
	}
}

void cgroup_adopt(const char *mount, const struct journal *journal)
{
	for (size_t i = 0; i < journal->nr_runs; i++)
		if (journal->runs[i].adopt)
			cgroup_enter(mount, journal->runs[i].name, journal->runs[i].adopt);
}

/* In the directory of a run group; the journal has every task that is in one. */
static bool belongs(const struct journal *journal, pid_t pid, const struct cpus *procs)
{
	struct search search = { journal, procs };

	return !task_for_each_thread(pid, elsewhere, &search);
}

static void release_group(const char *mount, const struct journal *journal,
			  const struct run_group *run, const struct cpus *procs)
{
	struct text pids = { 0 };
	char *rest, *pid, *path = format("%s/timershield/%s/cgroup.procs", mount, run->name);

	if (!file_read_line(path, &pids))
		for (rest = pids.s; (pid = strsep(&rest, "\n")); )
			if (*pid && !belongs(journal, atoi(pid), procs))
				cgroup_send_back(mount, run->origin, pid);
	text_free(&pids);
	free(path);
}

void cgroup_release(const char *mount, const struct journal *journal, const struct cpus *procs)
{
	for (size_t i = 0; i < journal->nr_runs; i++)
		if (!journal->runs[i].adopt)
			release_group(mount, journal, &journal->runs[i], procs);
}
