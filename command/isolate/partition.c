// SPDX-License-Identifier: GPL-2.0-or-later
#include "partition.h"
#include "lib/cgroup.h"
#include "lib/change.h"
#include "lib/file.h"
#include "lib/message.h"
#include "partition_procs.h"

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

/* CPUs go back to all before anything that may fail: a process that cannot be moved. */
static int remove_group(const char *mount, const char *group, const struct journal *journal)
{
	autofree char *members = NULL;
	int ret;

	partition_expel(mount, journal);
	ret = cgroup_write(group, "cpuset.cpus.partition", "member");
	if (!ret)
		ret = cgroup_remove(group);
	if (!ret)
		return 0;
	members = partition_named(mount);
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
