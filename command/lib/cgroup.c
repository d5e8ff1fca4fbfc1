// SPDX-License-Identifier: GPL-2.0-or-later
#include "cgroup.h"
#include "change.h"
#include "message.h"

#include <time.h>

#define RETRIES 50
#define RETRY_NS 10000000

/*
 * ID PARENT MAJOR:MINOR ROOT MOUNT-POINT OPTIONS... - TYPE SOURCE SUPER-OPTIONS
 * with blanks, tabs, newlines and backslashes as \ and three octal digits.
 */
static char *mount_point_of_line(char *line)
{
	char *root = NULL, *mount = NULL, *found = NULL;

	if (strstr(line, " - cgroup2 ") &&
	    sscanf(line, "%*s %*s %*s %ms %ms", &root, &mount) == 2 && !strcmp(root, "/")) {
		unescape(mount, '\\', "%3o%n");
		found = copy(mount);
	}
	free(root);
	free(mount);
	return found;
}

char *cgroup_find_mount(void)
{
	autotext struct text text = { 0 };
	char *rest, *line, *mount = NULL;

	if (!file_read("/proc/self/mountinfo", &text))
		for (rest = text.s; !mount && (line = strsep(&rest, "\n")); )
			mount = mount_point_of_line(line);
	return mount;
}

char *cgroup_path(pid_t tid)
{
	autofree char *path = tid ? format("/proc/%d/cgroup", tid) : copy("/proc/self/cgroup");

	return file_find(path, "0::");
}

char *cgroup_of(pid_t tid, char **mount)
{
	autofree char *group = cgroup_path(tid);

	free(*mount);
	*mount = cgroup_find_mount();
	return *mount && group ? format("%s%s", *mount, group) : NULL;
}

static bool has_controller(const char *group, const char *file)
{
	autofree char *path = format("%s/%s", group, file);

	return file_has(path, "cpuset");
}

char *cgroup_mount_point(const char **why)
{
	char *mount = cgroup_find_mount();

	if (!mount) {
		*why = "cgroup v2 is not mounted";
	} else if (!has_controller(mount, "cgroup.controllers")) {
		*why = "cgroup v2 has no cpuset controller: it is cgroup v1's, or not built in";
		free(mount);
		mount = NULL;
	}
	return mount;
}

const char *cgroup_mend(void)
{
	autofree char *hierarchy = file_find("/proc/cgroups", "\ncpuset\t");

	if (!hierarchy)
		return "boot a kernel with CONFIG_CPUSETS";
	return atoi(hierarchy) ? "boot with cgroup_no_v1=cpuset on the kernel command line" :
	       "mount -t cgroup2 none /sys/fs/cgroup";
}

bool cgroup_controller_enabled(const char *mount)
{
	return has_controller(mount, "cgroup.subtree_control");
}

void cgroup_below(const char *group, const char *file, struct names *groups)
{
	autonames struct names names = { 0 };

	file_names(group, &names);
	for (size_t i = 0; i < names.count; i++) {
		autofree char *child = format("%s/%s", group, names.items[i]);
		autofree char *path = format("%s/%s", child, file);

		if (!file_exists(path))
			continue;
		*append(groups->items, groups->count) = copy(child);
		cgroup_below(child, file, groups);
	}
}

char *cgroup_read(const char *group, const char *file)
{
	autofree char *path = format("%s/%s", group, file);
	autotext struct text text = { 0 };

	return file_read_line(path, &text) ? NULL : copy(text.s);
}

struct cpus cgroup_read_cpus(const char *group, const char *file)
{
	autofree char *path = format("%s/%s", group, file);
	struct cpus cpus = { 0 };

	file_read_cpus(path, &cpus);
	return cpus;
}

int cgroup_write(const char *group, const char *file, const char *value)
{
	autofree char *path = format("%s/%s", group, file);

	return change_write(path, value);
}

int cgroup_must_write(const char *group, const char *file, const char *value)
{
	int ret = cgroup_write(group, file, value);

	return ret ? failed(ret, "%s/%s: cannot write '%s': %s", group, file, value,
			    strerror(-ret)) : 0;
}

int cgroup_make(const char *path)
{
	int ret = change_mkdir(path);

	return ret && ret != -EEXIST ? failed(ret, "%s: %s", path, strerror(-ret)) : 0;
}

int cgroup_remove(const char *path)
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
