// SPDX-License-Identifier: GPL-2.0-or-later
#include "affinity.h"
#include "change.h"
#include "file.h"
#include "machine.h"
#include "message.h"
#include "task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct plan {
	const struct journal *old;
	struct journal *new;
	const struct cpus *possible;
	struct cpus shielded;
};

/*
 * A recorded task that runs where it may of what it asked for has not changed its mind.
 * One that never asked runs on everything that is not shielded.
 */
static int plan_task(const struct task *task, void *argument)
{
	struct plan *plan = argument;
	const struct task_record *known = journal_task(plan->old, task->tid, task->start);
	struct task_record record = { task->tid, task->pid, task->start, task->cpus };
	struct cpus open, all;

	if (task->flags & TASK_BOUND)
		return 0;
	open = known ? cpus_and_not(&known->cpus, &plan->shielded) : task->cpus;
	if (known && (cpus_empty(&open) || cpus_equal(&open, &task->cpus)))
		record.cpus = known->cpus;
	all = known ? record.cpus : cpus_or(&task->cpus, &plan->shielded);
	if (!cpus_equal(&all, plan->possible))
		journal_add_task(plan->new, &record);
	return 0;
}

int affinity_plan(struct journal *journal, const struct machine *machine)
{
	struct journal found = { 0 };
	struct plan plan = {
		.old = journal,
		.new = &found,
		.possible = &machine->possible,
		.shielded = journal->procs.wanted,
	};
	int ret;

	/* Half-way through a change, affinities are not what anybody asked for. */
	if (journal->changing)
		return 0;
	ret = task_for_each(plan_task, &plan);
	if (ret) {
		free(found.tasks);
		return failed(ret, "/proc: cannot list tasks: %s", strerror(-ret));
	}
	free(journal->tasks);
	journal->tasks = found.tasks;
	journal->nr_tasks = found.nr_tasks;
	return 0;
}

/* By its thread id: /proc/TID is there for every thread, though it is not listed. */
static int read_by_tid(struct task *task, const struct task_record *record)
{
	int ret = task_read(task, record->tid, record->tid);

	if (!ret && task->start != record->start)
		ret = -ESRCH;
	return ret;
}

void affinity_apply(const struct journal *journal)
{
	/* Whether the kernel itself knows what each task asked for. */
	const bool remembers = machine_linux_since(6, 2);

	for (size_t i = 0; i < journal->nr_tasks; i++) {
		const struct task_record *record = &journal->tasks[i];
		struct cpus open = cpus_and_not(&record->cpus, &journal->procs.wanted);
		struct task task;

		if (cpus_empty(&open))
			open = record->cpus;
		if (read_by_tid(&task, record) || cpus_equal(&task.cpus, &open))
			continue;
		/* It knows more than the journal: also what was asked for meanwhile. */
		if (!remembers || task.flags & TASK_KERNEL_THREAD)
			change_affinity(record->tid, &open);
	}
}
