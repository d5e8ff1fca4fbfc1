// SPDX-License-Identifier: GPL-2.0-or-later
#include "affinity.h"
#include "lib/cgroup.h"
#include "lib/change.h"
#include "lib/file.h"
#include "lib/machine.h"
#include "lib/task.h"
#include "partition.h"

#define ROUNDS 10

struct plan {
	const struct journal *old;
	struct journal *new;
	const struct cpus *possible, *taken;
	struct cpus isolated;
};

/*
 * Where the kernel has the thread of an interrupt: with that, wherever it goes. A cpuset
 * takes the thread elsewhere all the same.
 */
static bool place_of_irq_thread(const struct task *task, struct cpus *place)
{
	static const char * const files[] = { "effective_affinity_list", "smp_affinity_list" };
	unsigned int irq;
	int ret = -ENOENT;

	if (!(task->flags & TASK_KERNEL_THREAD) || sscanf(task->name, "irq/%9u-", &irq) != 1)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(files) && ret; i++) {
		autofree char *path = format("/proc/irq/%u/%s", irq, files[i]);

		ret = file_read_cpus(path, place);
	}
	return !ret && !cpus_empty(place);
}

/* Put into the partition by somebody else: it has the partition's CPUs, and asked for none. */
static bool is_foreign_member(const struct plan *plan, const struct task *task)
{
	autofree char *group = NULL;

	if (!cpus_subset(&task->cpus, &plan->isolated))
		return false;
	group = cgroup_path(task->pid, NULL);
	return group && partition_is(group) && !journal_run(plan->old, strrchr(group, '/') + 1);
}

/*
 * A recorded task that runs where it may of what it asked for has not changed its mind.
 * One that never asked runs on everything that is not isolated.
 */
static void plan_task(struct plan *plan, const struct task *task)
{
	const struct task_record *known = journal_task(plan->old, task->tid, task->start);
	struct task_record record = { task->tid, task->pid, task->start, task->cpus };
	struct cpus open, all, place;

	if (task->flags & TASK_BOUND)
		return;
	if (!known && place_of_irq_thread(task, &place) && cpus_equal(&place, &task->cpus))
		return;
	if (!known && is_foreign_member(plan, task))
		return;
	open = known ? cpus_and_not(&known->cpus, &plan->isolated) : task->cpus;
	if (known && (cpus_empty(&open) || cpus_equal(&open, &task->cpus)))
		record.cpus = known->cpus;
	all = known ? record.cpus : cpus_or(&task->cpus, &plan->isolated);
	all = cpus_or(&all, plan->taken);
	if (!cpus_equal(&all, plan->possible))
		*append(plan->new->tasks, plan->new->nr_tasks) = record;
}

int affinity_plan(struct journal *journal, const struct machine *machine,
		  const struct cpus *taken)
{
	struct journal found = { 0 };
	struct plan plan = {
		.old = journal,
		.new = &found,
		.possible = &machine->possible,
		.taken = taken,
		.isolated = journal->procs,
	};
	autotasks struct tasks tasks = { 0 };
	int ret;

	/* Half-way through a change, affinities are not what anybody asked for. */
	if (journal->changing)
		return 0;
	ret = tasks_read(&tasks);
	if (ret)
		return ret;
	tasks_for_each(task, &tasks)
		plan_task(&plan, task);
	free(journal->tasks);
	journal->tasks = found.tasks;
	journal->nr_tasks = found.nr_tasks;
	return 0;
}

/*
 * One that was where its interrupt is, is not recorded. The kernel takes it along when
 * an interrupt leaves an isolated CPU later.
 */
static void put_irq_thread(const struct journal *journal, const struct task *task)
{
	struct cpus place;

	if (task->flags & TASK_BOUND || !place_of_irq_thread(task, &place) ||
	    journal_task(journal, task->tid, task->start) || cpus_equal(&place, &task->cpus) ||
	    cpus_subset(&place, &journal->procs))
		return;
	change_affinity(task->tid, &place);
}

static void put_recorded_tasks(const struct journal *journal, const struct machine *machine)
{
	/*
	 * Whether the kernel itself knows what each task asked for. Those that never asked
	 * are taken off the CPUs of isolcpus= at boot only, and no partition gives that back.
	 */
	const bool remembers = machine_linux_since(6, 2) && cpus_empty(&machine->booted);

	for (size_t i = 0; i < journal->nr_tasks; i++) {
		const struct task_record *record = &journal->tasks[i];
		struct cpus open = cpus_and_not(&record->cpus, &journal->procs);
		struct task task;

		if (cpus_empty(&open))
			open = record->cpus;
		if (task_read(&task, record->tid, record->tid) || task.start != record->start ||
		    cpus_equal(&task.cpus, &open))
			continue;
		/* It knows more than the journal: also what was asked for meanwhile. */
		if (!remembers || task.flags & TASK_KERNEL_THREAD)
			change_affinity(record->tid, &open);
	}
}

/* A task that is not recorded asked for all CPUs. The number of affinities that changed. */
static unsigned int strip_tasks(const struct journal *journal, const struct machine *machine)
{
	autotasks struct tasks tasks = { 0 };
	unsigned int changed = 0;

	tasks_read(&tasks);
	tasks_for_each(task, &tasks) {
		const struct task_record *known = journal_task(journal, task->tid, task->start);
		const struct cpus *asked = known ? &known->cpus : &machine->possible;
		struct cpus open = cpus_and_not(asked, &journal->procs), place;

		if (task->flags & TASK_BOUND || (!known && place_of_irq_thread(task, &place)))
			continue;
		if (!cpus_intersect(&open, &machine->online))
			open = *asked;
		if (!cpus_equal(&task->cpus, &open) && !change_affinity(task->tid, &open))
			changed++;
	}
	return changed;
}

void affinity_apply(struct journal *journal, const struct machine *machine)
{
	autotasks struct tasks tasks = { 0 };

	/* A task that starts meanwhile may inherit what its parent had before. */
	for (unsigned int i = 0; journal->by_affinity && i < ROUNDS; i++)
		if (!strip_tasks(journal, machine) || change_only_list)
			break;
	if (!journal->by_affinity)
		put_recorded_tasks(journal, machine);
	tasks_read(&tasks);
	tasks_for_each(task, &tasks)
		put_irq_thread(journal, task);
}
