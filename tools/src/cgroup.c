// SPDX-License-Identifier: GPL-2.0-or-later
#include "cgroup.h"
#include "change.h"
#include "file.h"
#include "message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GROUP "/timershield"
#define RETRIES 50
#define RETRY_NS 10000000

/* mountinfo writes blanks, tabs, newlines and backslashes as \ and three octal digits. */
static void unescape_octal(char *text)
{
	char *to = text;

	for (; *text; text++, to++) {
		unsigned int c;

		*to = *text;
		if (*text == '\\' && sscanf(text + 1, "%3o", &c) == 1) {
			*to = (char)c;
			text += 3;
		}
	}
	*to = '\0';
}

/* ID PARENT MAJOR:MINOR ROOT MOUNT-POINT OPTIONS... - TYPE SOURCE SUPER-OPTIONS */
static char *mount_point_of_line(char *line)
{
	char *type = strstr(line, " - "), *mount = NULL, *root = NULL;
	unsigned int field = 0;

	if (!type || strncmp(type, " - cgroup2 ", 11))
		return NULL;
	*type = '\0';
	for (char *word; (word = strsep(&line, " ")); field++) {
		if (field == 3)
			root = word;
		else if (field == 4)
			mount = word;
	}
	if (!mount || strcmp(root, "/"))
		return NULL;
	unescape_octal(mount);
	return copy(mount);
}

static char *find_mount_point(void)
{
	struct text text = { 0 };
	char *rest, *line, *mount = NULL;

	if (!file_read("/proc/self/mountinfo", &text))
		for (rest = text.s; !mount && (line = strsep(&rest, "\n")); )
			mount = mount_point_of_line(line);
	text_free(&text);
	return mount;
}

static bool has_word(const char *path, const char *wanted)
{
	struct text text = { 0 };
	bool found = false;
	char *rest, *word;

	if (!file_read_line(path, &text))
		for (rest = text.s; !found && (word = strsep(&rest, " ")); )
			found = !strcmp(word, wanted);
	text_free(&text);
	return found;
}

static bool has_controller(const char *group, const char *file)
{
	char *path = format("%s/%s", group, file);
	bool has = has_word(path, "cpuset");

	free(path);
	return has;
}

char *cgroup_mount_point(const char **why)
{
	char *mount = find_mount_point();

	if (!mount) {
		*why = "cgroup v2 is not mounted";
	} else if (!has_controller(mount, "cgroup.controllers")) {
		*why = "cgroup v2 has no cpuset controller: it is cgroup v1's, or not built in";
		free(mount);
		mount = NULL;
	}
	return mount;
}

/* Whether there is a cpuset controller, and whether a hierarchy of cgroup v1 has it. */
static void find_controller(bool *there, bool *v1)
{
	struct text text = { 0 };
	unsigned int hierarchy;
	char *rest, *line;

	*there = false;
	*v1 = false;
	if (!file_read("/proc/cgroups", &text)) {
		for (rest = text.s; (line = strsep(&rest, "\n")); ) {
			if (sscanf(line, "cpuset %u", &hierarchy) == 1) {
				*there = true;
				*v1 = hierarchy;
			}
		}
	}
	text_free(&text);
}

const char *cgroup_mend(void)
{
	bool there, v1;

	find_controller(&there, &v1);
	if (v1)
		return "boot with cgroup_no_v1=cpuset on the kernel command line";
	if (there)
		return "mount -t cgroup2 none /sys/fs/cgroup";
	return "boot a kernel with CONFIG_CPUSETS";
}

bool cgroup_controller_enabled(const char *mount)
{
	return has_controller(mount, "cgroup.subtree_control");
}

static int write_in(const char *group, const char *file, const char *value)
{
	char *path = format("%s/%s", group, file);
	int ret = change_write(path, value);

	free(path);
	return ret;
}

static int try_write(const char *group, const char *file, const char *value)
{
	int ret = write_in(group, file, value);

	return ret ? failed(ret, "%s/%s: cannot write '%s': %s", group, file, value,
			    strerror(-ret)) : 0;
}

char *cgroup_partition_state(const char *mount)
{
	char *path = format("%s" GROUP "/cpuset.cpus.partition", mount);
	struct text text = { 0 };
	int ret = file_read_line(path, &text);

	free(path);
	if (ret)
		text_free(&text);
	return text.s;
}

static int check_partition(const char *mount)
{
	char *state;
	int ret = 0;

	if (change_is_listed())
		return 0;
	state = cgroup_partition_state(mount);
	if (!state || strcmp(state, "isolated"))
		ret = failed(-EINVAL, "the kernel does not isolate these CPUs: %s%s",
			     state ? state : "the cgroup has gone",
			     state && strstr(state, "not exclusive") ?
			     "; another cgroup's cpuset.cpus names them" : "");
	free(state);
	return ret;
}

static int make_group(const char *path)
{
	int ret = change_mkdir(path);

	return ret && ret != -EEXIST ? failed(ret, "%s: %s", path, strerror(-ret)) : 0;
}

/*
 * The CPUs of a partition are not changed while it is one: Linux 6.12 may then lose
 * count of them (a warning in update_parent_effective_cpumask()), and keep CPUs
 * isolated when the partition has gone.
 */
static int set_cpus(const char *group, const char *list)
{
	char *path = format("%s/cpuset.cpus", group);
	struct text now = { 0 };
	bool same = !file_read_line(path, &now) && !strcmp(now.s, list);
	int ret = 0;

	text_free(&now);
	free(path);
	if (same)
		return 0;
	if (!change_is_listed())
		ret = try_write(group, "cpuset.cpus.partition", "member");
	return ret ? ret : try_write(group, "cpuset.cpus", list);
}

static int make_partition(const char *mount, const struct cpus *cpus)
{
	char *group = format("%s" GROUP, mount), *list = cpus_list(cpus);
	int ret = 0;

	if (!cgroup_controller_enabled(mount))
		ret = try_write(mount, "cgroup.subtree_control", "+cpuset");
	if (!ret)
		ret = make_group(group);
	if (!ret)
		ret = try_write(group, "cgroup.subtree_control", "+cpuset");
	if (!ret)
		ret = set_cpus(group, list);
	if (!ret) {
		ret = write_in(group, "cpuset.cpus.partition", "isolated");
		if (ret)
			failed(ret, "%s: no isolated partition: %s (needs Linux 6.1 or later)",
			       group, strerror(-ret));
	}
	if (!ret)
		ret = check_partition(mount);
	free(list);
	free(group);
	return ret;
}

static int remove_directory(const char *path)
{
	const struct timespec pause = { .tv_nsec = RETRY_NS };
	int ret;

	/* A process that has just left, or died, may still count for a moment. */
	for (int i = 0; i < RETRIES; i++) {
		ret = change_rmdir(path);
		if (ret != -EBUSY)
			break;
		nanosleep(&pause, NULL);
	}
	return ret == -ENOENT ? 0 : ret;
}

int cgroup_send_back(const char *mount, const char *origin, const char *pid)
{
	char *group = format("%s%s", mount, origin);
	int ret = write_in(group, "cgroup.procs", pid);

	free(group);
	if (ret && ret != -ESRCH)
		ret = write_in(mount, "cgroup.procs", pid);
	return ret == -ESRCH ? 0 : ret;
}

/* Processes may fork meanwhile: until none is found. */
static int send_back(const char *mount, const char *group, const char *origin)
{
	char *path = format("%s/cgroup.procs", group);
	struct text pids = { 0 };
	int ret = 0;

	for (int i = 0; !ret && i < RETRIES; i++) {
		char *rest, *pid;

		if (file_read_line(path, &pids) || !pids.length)
			break;
		for (rest = pids.s; !ret && (pid = strsep(&rest, "\n")); )
			ret = cgroup_send_back(mount, origin, pid);
		if (change_is_listed())
			break;
	}
	text_free(&pids);
	free(path);
	return ret;
}

struct emptying {
	const char *mount, *group, *origin;
	const struct journal *journal;
};

static int empty_group(const char *mount, const char *group, const char *origin,
		       const struct journal *journal);

static int empty_child(const char *name, void *argument)
{
	const struct emptying *parent = argument;
	const struct run_group *run = journal_run(parent->journal, name);
	char *group = format("%s/%s", parent->group, name), *probe;
	int ret = 0;

	probe = format("%s/cgroup.procs", group);
	if (file_exists(probe))
		ret = empty_group(parent->mount, group, run ? run->origin : parent->origin,
				  parent->journal);
	free(probe);
	free(group);
	return ret;
}

static int empty_group(const char *mount, const char *group, const char *origin,
		       const struct journal *journal)
{
	struct emptying emptying = { mount, group, origin, journal };
	int ret = file_for_each(group, empty_child, &emptying);

	if (!ret)
		ret = send_back(mount, group, origin);
	if (!ret)
		ret = remove_directory(group);
	return ret;
}

static int remove_partition(const char *mount, struct journal *journal)
{
	char *group = format("%s" GROUP, mount);
	struct emptying emptying = { mount, group, "", journal };
	int ret = 0;

	if (file_exists(group)) {
		ret = file_for_each(group, empty_child, &emptying);
		if (!ret)
			ret = write_in(group, "cpuset.cpus.partition", "member");
		if (!ret)
			ret = remove_directory(group);
		if (ret)
			failed(ret, "%s: cannot remove it: %s", group, strerror(-ret));
	}
	if (!ret && journal->controller_enabled && cgroup_controller_enabled(mount)) {
		int busy = write_in(mount, "cgroup.subtree_control", "-cpuset");

		if (busy)
			notice("%s: the cpuset controller stays enabled: others use it", mount);
	}
	free(group);
	return ret;
}

int cgroup_set(const char *mount, struct journal *journal, const struct cpus *cpus)
{
	return cpus_empty(cpus) ? remove_partition(mount, journal) : make_partition(mount, cpus);
}

char *cgroup_of(pid_t pid)
{
	char *path = format("/proc/%d/cgroup", pid), *rest, *line, *group = NULL;
	struct text text = { 0 };

	if (!file_read(path, &text))
		for (rest = text.s; !group && (line = strsep(&rest, "\n")); )
			if (!strncmp(line, "0::/", 4))
				group = copy(line + 3);
	text_free(&text);
	free(path);
	return group;
}

bool cgroup_is_ours(const char *group)
{
	size_t length = strlen(GROUP);

	return !strncmp(group, GROUP, length) && (!group[length] || group[length] == '/');
}

void cgroup_remove_unused(const char *mount, struct journal *journal)
{
	for (size_t i = journal->nr_runs; i-- && !change_is_listed(); ) {
		char *group = format("%s" GROUP "/%s", mount, journal->runs[i].name);
		int ret = change_rmdir(group);

		if (!ret || ret == -ENOENT)
			journal_drop_run(journal, &journal->runs[i]);
		free(group);
	}
}

int cgroup_enter(const char *mount, const char *name, pid_t pid)
{
	char *group = format("%s" GROUP "/%s", mount, name), *number = format("%d", pid);
	int ret = make_group(group);

	if (!ret)
		ret = try_write(group, "cgroup.procs", number);
	free(number);
	free(group);
	return ret;
}
