// SPDX-License-Identifier: GPL-2.0-or-later
#include "isolation.h"
#include "lib/cgroup.h"
#include "lib/change.h"
#include "lib/file.h"
#include "lib/message.h"
#include "lib/task.h"

#define ROUNDS 50
#define PROCESSES "cgroup.procs"
#define TYPE "cpuset.cpus.partition"

void partition_free(struct partition *partition)
{
	free(partition->state);
	*partition = (struct partition){ 0 };
}

void partition_read(struct partition *partition, const char *mount)
{
	autofree char *group = format("%s" PARTITION, mount);

	partition_free(partition);
	partition->state = cgroup_read(group, TYPE);
	partition->cpus = cgroup_read_cpus(group, "cpuset.cpus");
	if (partition->state && !strcmp(partition->state, "isolated"))
		partition->isolated = cgroup_read_cpus(group, "cpuset.cpus.effective");
}

/*
 * The CPUs of a partition are not changed while it is one: Linux 6.12 may then lose count of them
 * (a warning in update_parent_effective_cpumask()), and keep CPUs isolated when the partition has
 * gone. An invalid one has to become a plain group, too, before the kernel looks at it again.
 */
static int set_cpus(const char *group, const char *list)
{
	autofree char *now = cgroup_read(group, "cpuset.cpus");
	autofree char *state = cgroup_read(group, TYPE);
	bool same = now && !strcmp(now, list) && !(state && strstr(state, "invalid"));
	int ret = 0;

	if (same)
		return 0;
	if (!change_only_list)
		ret = cgroup_must_write(group, TYPE, "member");
	return ret ? ret : cgroup_must_write(group, "cpuset.cpus", list);
}

static int make_partition(const char *mount, const struct cpus *cpus)
{
	autofree char *group = format("%s" PARTITION, mount), *list = cpus_list(cpus);
	autofree char *named = cpus_named(cpus), *state = NULL;
	int ret = 0;

	if (!cgroup_controller_enabled(mount))
		ret = cgroup_must_write(mount, "cgroup.subtree_control", "+cpuset");
	if (!ret)
		ret = cgroup_make(group);
	if (!ret)
		ret = cgroup_must_write(group, "cgroup.subtree_control", "+cpuset");
	if (!ret)
		ret = set_cpus(group, list);
	if (!ret) {
		ret = cgroup_write(group, TYPE, "isolated");
		if (ret)
			failed(ret, "%s: no isolated partition: %s (needs Linux 6.1 or later)",
			       group, strerror(-ret));
	}
	state = cgroup_read(group, TYPE);
	if (ret || change_only_list || (state && !strcmp(state, "isolated")))
		return ret;
	return failed(-EINVAL, "the kernel does not isolate %s: %s", named,
		      state ? state : "the cgroup was removed");
}

bool partition_is(const char *group)
{
	size_t length = strlen(PARTITION);

	return !strncmp(group, PARTITION, length) && (!group[length] || group[length] == '/');
}

bool partition_has(pid_t pid)
{
	autofree char *group = cgroup_path(pid);

	return group && partition_is(group);
}

int partition_enter(const char *mount, const char *name, pid_t pid)
{
	autofree char *group = format("%s" PARTITION "/%s", mount, name);
	autofree char *number = format("%d", pid);
	int ret = cgroup_make(group);

	if (!ret)
		ret = cgroup_must_write(group, PROCESSES, number);
	return ret;
}

/* To where it came from, or else to the root. */
static int send_one_back(const char *mount, const char *origin, const char *pid)
{
	autofree char *group = format("%s%s", mount, origin);
	int ret = cgroup_write(group, PROCESSES, pid);

	if (ret && ret != -ESRCH)
		ret = cgroup_write(mount, PROCESSES, pid);
	return ret == -ESRCH ? 0 : ret;
}

/* Processes may fork meanwhile: until none is found. */
static int send_back(const char *mount, const char *group, const char *origin)
{
	int ret = 0;

	for (int i = 0; !ret && i < ROUNDS; i++) {
		autofree char *pids = cgroup_read(group, PROCESSES);
		char *rest = pids, *pid;

		if (!pids || !*pids)
			break;
		while (!ret && (pid = strsep(&rest, "\n")))
			ret = send_one_back(mount, origin, pid);
		if (change_only_list)
			break;
	}
	return ret;
}

/* Sends all processes back and removes their groups, as far as that goes. */
static void expel(const char *mount, const struct journal *journal)
{
	autofree char *top = format("%s" PARTITION, mount);
	autonames struct names groups = { 0 };

	/* First those that sit in threaded groups: they are listed at the top alone. */
	send_back(mount, top, "");
	cgroup_below(top, PROCESSES, &groups);
	for (size_t i = groups.count; i--; ) {
		/* run-PID, or below that */
		const char *name = groups.items[i] + strlen(top) + 1;
		autofree char *first = format("%.*s", (int)strcspn(name, "/"), name);
		const struct run_group *run = journal_run(journal, first);

		send_back(mount, groups.items[i], run ? run->origin : "");
	}
	for (size_t i = groups.count; i-- && !cgroup_remove(groups.items[i]); )
		;
	send_back(mount, top, "");
}

static void name_members(const char *group, struct text *names)
{
	autofree char *pids = cgroup_read(group, PROCESSES);
	char *rest = pids, *pid;
	struct task task;

	while ((pid = strsep(&rest, "\n")))
		if (!task_read(&task, atoi(pid), atoi(pid)))
			text_add(names, "%s%s (%s)", names->length ? ", " : "", pid, task.name);
}

/* Those that are there, as "12 (name), 34 (name)", or "". */
static char *members_named(const char *top)
{
	autonames struct names groups = { 0 };
	struct text names = { .s = copy("") };

	name_members(top, &names);
	cgroup_below(top, PROCESSES, &groups);
	for (size_t i = 0; i < groups.count; i++)
		name_members(groups.items[i], &names);
	return names.s;
}

/* CPUs go back to all before anything that may fail: a process that cannot be moved. */
static int remove_group(const char *mount, const char *group, const struct journal *journal)
{
	autofree char *members = NULL;
	int ret;

	expel(mount, journal);
	ret = cgroup_write(group, TYPE, "member");
	if (!ret)
		ret = cgroup_remove(group);
	if (!ret)
		return 0;
	members = members_named(group);
	failed(ret, "%s: cannot remove it: %s%s%s", group, strerror(-ret),
	       *members ? "; end or move these, then 'timershield unisolate' again: " : "",
	       members);
	return ret;
}

/* Without the controller other groups lose what was set in them. */
static bool others_use_cpusets(const char *mount)
{
	autonames struct names names = { 0 };

	file_names(mount, &names);
	for (size_t i = 0; i < names.count; i++) {
		autofree char *group = format("%s/%s", mount, names.items[i]);
		autofree char *cpus = cgroup_read(group, "cpuset.cpus");
		autofree char *memory = cgroup_read(group, "cpuset.mems");

		if (strcmp(names.items[i], &PARTITION[1]) &&
		    ((cpus && *cpus) || (memory && *memory)))
			return true;
	}
	return false;
}

static int remove_partition(const char *mount, struct journal *journal)
{
	autofree char *group = format("%s" PARTITION, mount);
	int ret = file_exists(group) ? remove_group(mount, group, journal) : 0;

	if (!ret && journal->controller_enabled && cgroup_controller_enabled(mount) &&
	    (others_use_cpusets(mount) ||
	     cgroup_write(mount, "cgroup.subtree_control", "-cpuset")))
		notice("%s: the cpuset controller stays enabled: others use it", mount);
	return ret;
}

int partition_leave(const char *mount, const struct journal *journal, pid_t pid)
{
	autofree char *name = format("run-%d", pid), *number = format("%d", pid);
	const struct run_group *run = journal_run(journal, name);
	int ret = send_one_back(mount, run ? run->origin : "", number);

	if (ret)
		failed(ret, "cannot move process %d out of %s" PARTITION ": %s", pid, mount,
		       strerror(-ret));
	return ret;
}

void partition_forget_ended(const char *mount, struct journal *journal)
{
	for (size_t i = journal->nr_runs; i-- && !change_only_list; ) {
		autofree char *group = format("%s" PARTITION "/%s", mount, journal->runs[i].name);
		int ret = change_rmdir(group);

		if (!ret || ret == -ENOENT)
			journal_drop_run(journal, &journal->runs[i]);
	}
}

/* Whether all of its threads asked for these CPUs alone; a process that has gone did not. */
static bool asked_for(const struct journal *journal, pid_t pid, const struct cpus *cpus)
{
	autotasks struct tasks threads = { 0 };

	if (tasks_read_threads(&threads, pid))
		return false;
	tasks_for_each(thread, &threads) {
		const struct task_record *record = journal_task(journal, thread->tid,
								thread->start);

		if (!record || !cpus_subset(&record->cpus, cpus))
			return false;
	}
	return true;
}

void partition_plan_adoption(struct journal *journal, const struct cpus *procs)
{
	for (size_t i = 0; i < journal->nr_tasks && !cpus_empty(procs); i++) {
		const struct task_record *record = &journal->tasks[i];
		autofree char *name = NULL, *group = NULL;

		if (record->tid != record->pid || !cpus_subset(&record->cpus, procs) ||
		    !asked_for(journal, record->pid, procs))
			continue;
		name = format("run-%d", record->pid);
		group = cgroup_path(record->pid);
		if (group && !partition_is(group) && !journal_run(journal, name))
			journal_add_run(journal, name, group, record->pid);
	}
}

int partition_set(const char *mount, struct journal *journal, const struct cpus *cpus)
{
	int ret = cpus_empty(cpus) ? remove_partition(mount, journal) : make_partition(mount, cpus);

	for (size_t i = 0; i < journal->nr_runs && !ret && !cpus_empty(cpus); i++)
		if (journal->runs[i].adopt)
			partition_enter(mount, journal->runs[i].name, journal->runs[i].adopt);
	if (!ret)
		partition_forget_ended(mount, journal);
	return ret;
}

int partition_release(struct isolation *isolation)
{
	const struct journal *journal = &isolation->journal;

	/* In the middle of a change the journal may not have every task. */
	if (!isolation->settled || !isolation->mount || journal->by_affinity)
		return 0;
	for (size_t i = 0; i < journal->nr_runs; i++) {
		const struct run_group *run = &journal->runs[i];
		autofree char *group = format("%s" PARTITION "/%s", isolation->mount, run->name);
		autofree char *pids = run->adopt ? NULL : cgroup_read(group, PROCESSES);
		char *rest = pids, *pid;

		while ((pid = strsep(&rest, "\n")))
			if (*pid && !asked_for(journal, atoi(pid), &journal->procs))
				send_one_back(isolation->mount, run->origin, pid);
	}
	return 0;
}
