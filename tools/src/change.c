// SPDX-License-Identifier: GPL-2.0-or-later
#include "change.h"
#include "file.h"
#include "task.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool only_list;
static struct change *listed;
static size_t nr_listed;

void change_only_list(void)
{
	only_list = true;
}

bool change_is_listed(void)
{
	return only_list;
}

const struct change *change_listed(size_t *count)
{
	*count = nr_listed;
	return listed;
}

void change_free_list(void)
{
	while (nr_listed--) {
		free(listed[nr_listed].where);
		free(listed[nr_listed].value);
	}
	free(listed);
	listed = NULL;
	nr_listed = 0;
}

static int list(const char *what, const char *where, const char *value)
{
	listed = grow(listed, nr_listed + 1, sizeof(*listed));
	listed[nr_listed++] = (struct change){ what, copy(where), copy(value) };
	return 0;
}

int change_write(const char *path, const char *value)
{
	return only_list ? list("write", path, value) : file_write(path, value);
}

int change_mkdir(const char *path)
{
	char *full;
	int ret;

	if (only_list)
		return list("mkdir", path, "");
	full = file_path(path);
	ret = mkdir(full, 0755) ? -errno : 0;
	free(full);
	return ret;
}

int change_rmdir(const char *path)
{
	char *full;
	int ret;

	if (only_list)
		return list("rmdir", path, "");
	full = file_path(path);
	ret = rmdir(full) ? -errno : 0;
	free(full);
	return ret;
}

int change_affinity(pid_t tid, const struct cpus *cpus)
{
	char *where, *value;
	int ret;

	if (!only_list)
		return task_set_affinity(tid, cpus);
	where = format("%d", tid);
	value = cpus_list(cpus);
	ret = list("affinity", where, value);
	free(value);
	free(where);
	return ret;
}
