// SPDX-License-Identifier: GPL-2.0-or-later
#include "change.h"
#include "file.h"
#include "task.h"

#include <sched.h>
#include <sys/stat.h>

bool change_only_list;
static struct change *listed;
static size_t nr_listed;

const struct change *change_listed(size_t *count)
{
	*count = nr_listed;
	return listed;
}

static int list(const char *what, const char *where, const char *value)
{
	*append(listed, nr_listed) = (struct change){ what, copy(where), copy(value) };
	return 0;
}

int change_write(const char *path, const char *value)
{
	return change_only_list ? list("write", path, value) : file_write(path, value);
}

int change_mkdir(const char *path)
{
	autofree char *full = file_path(path);

	if (change_only_list)
		return list("mkdir", path, "");
	return mkdir(full, 0755) ? -errno : 0;
}

int change_rmdir(const char *path)
{
	autofree char *full = file_path(path);

	if (change_only_list)
		return list("rmdir", path, "");
	return rmdir(full) ? -errno : 0;
}

int change_affinity(pid_t tid, const struct cpus *cpus)
{
	autofree char *where = format("%d", tid), *value = cpus_list(cpus);

	return change_only_list ? list("affinity", where, value) : task_set_affinity(tid, cpus);
}

int change_priority(pid_t tid, int policy, int priority)
{
	autofree char *where = format("%d", tid), *value = policy_text(policy, priority);
	struct sched_param parameter = { .sched_priority = priority };

	if (change_only_list)
		return list("priority", where, value);
	return sched_setscheduler(tid, policy, &parameter) ? -errno : 0;
}

int change_modprobe(const char *module)
{
	autofree char *command = format("modprobe %s", module);

	if (change_only_list)
		return list("modprobe", module, "");
	if (*file_root() || !system(command))	/* the root has no kernel of its own */
		return 0;
	return geteuid() ? -EPERM : -ENODEV;
}
