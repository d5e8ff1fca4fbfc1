// SPDX-License-Identifier: GPL-2.0-or-later
#include "isolation.h"
#include "lib/cgroup.h"
#include "lib/change.h"
#include "lib/file.h"
#include "lib/message.h"
#include "lib/task.h"

#define ROUNDS 10

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
static bool is_foreign_member(const struct journal *journal, const struct task *task)
{
	autofree char *group = NULL;

	if (!cpus_subset(&task->cpus, &journal->procs))
		return false;
	group = cgroup_path(task->pid);
	return group && partition_is(group) && !journal_run(journal, strrchr(group, '/') + 1);
}

/*
 * Whether a task has asked for less than ALL, and for what. A recorded task that runs where it may
 * of what it asked for has not changed its mind. One that never asked runs on everything that is
 * not isolated.
 */
static bool has_asked(const struct journal *journal, const struct task *task,
		      const struct cpus *all, struct cpus *asked)
{
	const struct task_record *known = journal_task(journal, task->tid, task->start);
	struct cpus open, place;

	if (task->flags & TASK_BOUND)
		return false;
	*asked = task->cpus;
	if (known) {
		open = cpus_and_not(&known->cpus, &journal->procs);
		if (cpus_empty(&open) || cpus_equal(&open, &task->cpus))
			*asked = known->cpus;
		return !cpus_subset(all, asked);
	}
	if ((place_of_irq_thread(task, &place) && cpus_equal(&place, &task->cpus)) ||
	    is_foreign_member(journal, task))
		return false;
	open = cpus_or(&task->cpus, &journal->procs);
	return !cpus_subset(all, &open);
}

int affinity_plan(struct journal *journal, const struct machine *machine,
		  const struct cpus *taken)
{
	const struct cpus all = cpus_and_not(&machine->possible, taken);
	struct task_record *found = NULL;
	autotasks struct tasks tasks = { 0 };
	struct cpus asked;
	size_t count = 0;
	int ret;

	/* Half-way through a change, affinities are not what anybody asked for. */
	if (journal->changing)
		return 0;
	ret = tasks_read(&tasks);
	if (ret)
		return ret;
	tasks_for_each(task, &tasks)
		if (has_asked(journal, task, &all, &asked))
			*append(found, count) = (struct task_record){ task->tid, task->pid,
								      task->start, asked };
	free(journal->tasks);
	journal->tasks = found;
	journal->nr_tasks = count;
	return 0;
}

int affinity_refuse_offline(const struct journal *journal, const struct machine *machine,
			    const struct cpus *leaving)
{
	for (size_t i = 0; i < journal->nr_tasks; i++) {
		const struct task_record *record = &journal->tasks[i];
		autofree char *named = cpus_named(&record->cpus);
		struct task task;

		if (cpus_intersect(&record->cpus, &machine->online) ||
		    !cpus_intersect(&record->cpus, leaving) ||
		    task_read(&task, record->tid, record->tid) || task.start != record->start)
			continue;
		return failed(-ENODEV, "%s[%d] asked for %s alone: put that online first, or end the task; nothing was changed",
			      task.name, task.tid, named);
	}
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

int affinity_apply(struct isolation *isolation)
{
	const struct machine *machine = &isolation->machine;
	struct journal *journal = &isolation->journal;
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
	return 0;
}
