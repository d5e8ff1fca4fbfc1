// SPDX-License-Identifier: GPL-2.0-or-later
#include "partition.h"
#include "lib/cgroup.h"
#include "lib/change.h"
#include "lib/file.h"
#include "lib/message.h"
#include "lib/task.h"

#define ROUNDS 50

static char *read_in(const char *group, const char *file)
{
	autofree char *path = format("%s/%s", group, file);
	struct text text = { 0 };
	int ret = file_read_line(path, &text);

	if (ret)
		text_free(&text);
	return text.s;
}

static void read_cpus(const char *group, const char *file, struct cpus *cpus)
{
	autofree char *path = format("%s/%s", group, file);

	if (file_read_cpus(path, cpus))
		*cpus = (struct cpus){ 0 };
}

void partition_free(struct partition *partition)
{
	free(partition->state);
	*partition = (struct partition){ 0 };
}

void partition_read(struct partition *partition, const char *mount)
{
	autofree char *group = format("%s" PARTITION, mount);

	partition_free(partition);
	partition->state = read_in(group, "cpuset.cpus.partition");
	read_cpus(group, "cpuset.cpus", &partition->cpus);
	if (partition->state && !strcmp(partition->state, "isolated"))
		read_cpus(group, "cpuset.cpus.effective", &partition->isolated);
}

static int check_partition(const char *mount, const struct cpus *cpus)
{
	struct partition partition = { 0 };
	autofree char *named = NULL;
	int ret = 0;

	if (change_only_list)
		return 0;
	partition_read(&partition, mount);
	if (!partition.state || strcmp(partition.state, "isolated")) {
		named = cpus_named(cpus);
		ret = failed(-EINVAL, "the kernel does not isolate %s: %s", named,
			     partition.state ? partition.state : "the cgroup was removed");
	}
	partition_free(&partition);
	return ret;
}

/*
 * The CPUs of a partition are not changed while it is one: Linux 6.12 may then lose
 * count of them (a warning in update_parent_effective_cpumask()), and keep CPUs
 * isolated when the partition has gone. An invalid one has to become a plain group, too,
 * before the kernel looks at it again.
 */
static int set_cpus(const char *group, const char *list)
{
	autofree char *now = read_in(group, "cpuset.cpus");
	autofree char *state = read_in(group, "cpuset.cpus.partition");
	bool same = now && !strcmp(now, list) && !(state && strstr(state, "invalid"));
	int ret = 0;

	if (same)
		return 0;
	if (!change_only_list)
		ret = cgroup_must_write(group, "cpuset.cpus.partition", "member");
	return ret ? ret : cgroup_must_write(group, "cpuset.cpus", list);
}

static int make_partition(const char *mount, const struct cpus *cpus)
{
	autofree char *group = format("%s" PARTITION, mount), *list = cpus_list(cpus);
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
		ret = cgroup_write(group, "cpuset.cpus.partition", "isolated");
		if (ret)
			failed(ret, "%s: no isolated partition: %s (needs Linux 6.1 or later)",
			       group, strerror(-ret));
	}
	if (!ret)
		ret = check_partition(mount, cpus);
	return ret;
}

bool partition_is(const char *group)
{
	size_t length = strlen(PARTITION);

	return !strncmp(group, PARTITION, length) && (!group[length] || group[length] == '/');
}

int partition_enter(const char *mount, const char *name, pid_t pid)
{
	autofree char *group = format("%s" PARTITION "/%s", mount, name);
	autofree char *number = format("%d", pid);
	int ret = cgroup_make(group);

	if (!ret)
		ret = cgroup_must_write(group, "cgroup.procs", number);
	return ret;
}

/* To where it came from, or else to the root. */
static int send_one_back(const char *mount, const char *origin, const char *pid)
{
	autofree char *group = format("%s%s", mount, origin);
	int ret = cgroup_write(group, "cgroup.procs", pid);

	if (ret && ret != -ESRCH)
		ret = cgroup_write(mount, "cgroup.procs", pid);
	return ret == -ESRCH ? 0 : ret;
}

/* Processes may fork meanwhile: until none is found. */
static int send_back(const char *mount, const char *group, const char *origin)
{
	autofree char *path = format("%s/cgroup.procs", group);
	autotext struct text pids = { 0 };
	int ret = 0;

	for (int i = 0; !ret && i < ROUNDS; i++) {
		char *rest, *pid;

		if (file_read_line(path, &pids) || !pids.length)
			break;
		for (rest = pids.s; !ret && (pid = strsep(&rest, "\n")); )
			ret = send_one_back(mount, origin, pid);
		if (change_only_list)
			break;
	}
	return ret;
}

static int empty_group(const char *mount, const char *group, const char *origin,
		       const struct journal *journal);

static int empty_children(const char *mount, const char *group, const char *origin,
			  const struct journal *journal)
{
	autonames struct names names = { 0 };
	int ret = file_names(group, &names);

	for (size_t i = 0; i < names.count && !ret; i++) {
		const struct run_group *run = journal_run(journal, names.items[i]);
		autofree char *child = format("%s/%s", group, names.items[i]);
		autofree char *probe = format("%s/cgroup.procs", child);

		if (file_exists(probe))
			ret = empty_group(mount, child, run ? run->origin : origin, journal);
	}
	return ret;
}

static int empty_group(const char *mount, const char *group, const char *origin,
		       const struct journal *journal)
{
	int ret = empty_children(mount, group, origin, journal);

	if (!ret)
		ret = send_back(mount, group, origin);
	if (!ret)
		ret = cgroup_remove(group);
	return ret;
}

/* Sends all processes back and removes their groups, as far as that goes. */
static void expel(const char *mount, const struct journal *journal)
{
	autofree char *group = format("%s" PARTITION, mount);

	/* First those that sit in threaded groups: they are listed at the top alone. */
	send_back(mount, group, "");
	empty_children(mount, group, "", journal);
	send_back(mount, group, "");
}

static void name_members(const char *group, struct text *names)
{
	autofree char *path = format("%s/cgroup.procs", group);
	autonames struct names children = { 0 };
	autotext struct text pids = { 0 };
	char *rest, *pid;
	struct task task;

	if (file_read_line(path, &pids))
		return;
	for (rest = pids.s; (pid = strsep(&rest, "\n")); )
		if (*pid && !task_read(&task, atoi(pid), atoi(pid)))
			text_add(names, "%s%s (%s)", names->length ? ", " : "", pid, task.name);
	file_names(group, &children);
	for (size_t i = 0; i < children.count; i++) {
		autofree char *child = format("%s/%s", group, children.items[i]);

		name_members(child, names);
	}
}

/* Those that are there, as "12 (name), 34 (name)", or "". */
static char *members_named(const char *mount)
{
	autofree char *group = format("%s" PARTITION, mount);
	struct text names = { 0 };

	text_add(&names, "%s", "");
	name_members(group, &names);
	return names.s;
}

/* CPUs go back to all before anything that may fail: a process that cannot be moved. */
static int remove_group(const char *mount, const char *group, const struct journal *journal)
{
	autofree char *members = NULL;
	int ret;

	expel(mount, journal);
	ret = cgroup_write(group, "cpuset.cpus.partition", "member");
	if (!ret)
		ret = cgroup_remove(group);
	if (!ret)
		return 0;
	members = members_named(mount);
	failed(ret, "%s: cannot remove it: %s%s%s", group, strerror(-ret),
	       *members ? "; end or move these, then 'timershield unisolate' again: " : "",
	       members);
	return ret;
}

/* Without the controller other groups lose what was set in them. */
static bool others_use_cpusets(const char *mount)
{
	static const char * const files[] = { "cpuset.cpus", "cpuset.mems" };
	autonames struct names names = { 0 };

	file_names(mount, &names);
	for (size_t i = 0; i < names.count * ARRAY_SIZE(files); i++) {
		const char *name = names.items[i / ARRAY_SIZE(files)];
		autofree char *group = format("%s/%s", mount, name);
		autofree char *set = read_in(group, files[i % ARRAY_SIZE(files)]);

		if (strcmp(name, &PARTITION[1]) && set && *set)
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

int partition_set(const char *mount, struct journal *journal, const struct cpus *cpus)
{
	return cpus_empty(cpus) ? remove_partition(mount, journal) : make_partition(mount, cpus);
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
		group = cgroup_path(record->pid, NULL);
		if (group && !partition_is(group) && !journal_run(journal, name))
			journal_add_run(journal, name, group, record->pid);
	}
}

void partition_adopt(const char *mount, const struct journal *journal)
{
	for (size_t i = 0; i < journal->nr_runs; i++)
		if (journal->runs[i].adopt)
			partition_enter(mount, journal->runs[i].name, journal->runs[i].adopt);
}

/* The journal has every task that is in one. */
static void release_group(const char *mount, const struct journal *journal,
			  const struct run_group *run, const struct cpus *procs)
{
	autotext struct text pids = { 0 };
	autofree char *path = format("%s" PARTITION "/%s/cgroup.procs", mount, run->name);
	char *rest, *pid;

	if (!file_read_line(path, &pids))
		for (rest = pids.s; (pid = strsep(&rest, "\n")); )
			if (*pid && !asked_for(journal, atoi(pid), procs))
				send_one_back(mount, run->origin, pid);
}

void partition_release(const char *mount, const struct journal *journal, const struct cpus *procs)
{
	for (size_t i = 0; i < journal->nr_runs; i++)
		if (!journal->runs[i].adopt)
			release_group(mount, journal, &journal->runs[i], procs);
}
