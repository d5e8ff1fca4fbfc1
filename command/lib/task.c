// SPDX-License-Identifier: GPL-2.0-or-later
#include "task.h"
#include "file.h"
#include "message.h"

#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>

/* PID (NAME) STATE ...; fields are counted from the state. */
static int parse_stat(struct task *task, char *line)
{
	enum { STATE = 0, FLAGS = 6, PRIORITY = 15, START = 19, CPU = 36, OWN = 37, POLICY = 38 };
	char *name = strchr(line, '('), *rest = strrchr(line, ')'), *word;
	int field = -1;

	if (!name || !rest || rest < name)
		return -EBADMSG;
	*rest++ = '\0';
	snprintf(task->name, sizeof(task->name), "%.*s", TASK_NAME_MAX, name + 1);
	make_printable(task->name);
	for (; (word = strsep(&rest, " ")); field++) {
		if (field == STATE)
			task->state = *word;
		else if (field == FLAGS)
			task->flags = (unsigned int)strtoul(word, NULL, 10);
		else if (field == PRIORITY)
			task->priority = atoi(word) + 100;
		else if (field == START)
			task->start = strtoull(word, NULL, 10);
		else if (field == CPU)
			task->cpu = (unsigned int)atoi(word);
		else if (field == OWN)
			task->rt_priority = atoi(word);
		else if (field == POLICY)
			task->policy = atoi(word);
	}
	return field > START ? 0 : -EBADMSG;
}

int task_read_stat(struct task *task, pid_t pid, pid_t tid)
{
	autofree char *path = format("/proc/%d/task/%d/stat", pid, tid);
	autotext struct text text = { 0 };
	int ret = file_read(path, &text);

	*task = (struct task){ .pid = pid, .tid = tid };
	if (ret)
		return ret == -ENOENT ? -ESRCH : ret;
	return parse_stat(task, text.s);
}

int task_read(struct task *task, pid_t pid, pid_t tid)
{
	autofree char *path = format("/proc/%d/task/%d/status", pid, tid), *list = NULL;
	int ret = task_read_stat(task, pid, tid);

	if (ret)
		return ret;
	list = file_find(path, "\nCpus_allowed_list:");
	return list ? cpus_parse(&task->cpus, list) : -ESRCH;
}

static pid_t parse_id(const char *name)
{
	char *end;
	long id = strtol(name, &end, 10);

	return *name >= '1' && *name <= '9' && !*end && id <= INT_MAX ? (pid_t)id : 0;
}

static int add_task(struct tasks *tasks, pid_t pid, pid_t tid)
{
	int ret = task_read(append(tasks->items, tasks->count), pid, tid);

	tasks->count -= !!ret;
	return ret == -ESRCH ? 0 : ret;
}

int tasks_read_threads(struct tasks *tasks, pid_t pid)
{
	autofree char *path = format("/proc/%d/task", pid);
	autonames struct names names = { 0 };
	int ret = file_names(path, &names);

	for (size_t i = 0; i < names.count && !ret; i++) {
		pid_t tid = parse_id(names.items[i]);

		ret = tid ? add_task(tasks, pid, tid) : 0;
	}
	return ret == -ENOENT ? -ESRCH : ret;
}

int tasks_read(struct tasks *tasks)
{
	autonames struct names names = { 0 };
	int ret = file_names("/proc", &names);

	for (size_t i = 0; i < names.count && !ret; i++) {
		pid_t pid = parse_id(names.items[i]);

		ret = pid ? tasks_read_threads(tasks, pid) : 0;
		if (ret == -ESRCH)
			ret = 0;
	}
	return ret ? failed(ret, "/proc: cannot list tasks: %s", strerror(-ret)) : 0;
}

const struct task *tasks_unpinned(const struct tasks *tasks)
{
	tasks_for_each(task, tasks)
		if (!(task->flags & TASK_KERNEL_THREAD) && cpus_count(&task->cpus) > 1 &&
		    (task->rt_priority || task->policy == SCHED_DEADLINE))
			return task;
	return NULL;
}

void tasks_free(struct tasks *tasks)
{
	free(tasks->items);
}

long long task_number(pid_t pid, const char *file, const char *key)
{
	autofree char *path = format("/proc/%d/%s", pid, file), *text = file_find(path, key);
	long long number;

	return text && sscanf(text, "%lld", &number) == 1 ? number : -1;
}

bool task_may_lock_all(pid_t pid)
{
	autofree char *path = format("/proc/%d/status", pid);
	autofree char *capabilities = file_find(path, "CapEff:");
	long long limit = task_number(pid, "limits", "Max locked memory");

	return limit < 0 || limit / 1024 >= task_number(pid, "status", "VmSize:") ||
	       (capabilities && strtoull(capabilities, NULL, 16) >> CAP_IPC_LOCK & 1);
}

static const char * const policies[] = {
	[SCHED_OTHER] = "OTHER", [SCHED_FIFO] = "FIFO", [SCHED_RR] = "RR",
	[SCHED_BATCH] = "BATCH", [SCHED_IDLE] = "IDLE",
};

int policy_parse(const char *name)
{
	for (int i = 0; i < (int)ARRAY_SIZE(policies); i++)
		if (policies[i] && !strcasecmp(name, policies[i]))
			return i;
	return -EINVAL;
}

char *policy_text(int policy, int rt_priority)
{
	const char *name = policy == SCHED_DEADLINE ? "DEADLINE" :
			   (size_t)policy < ARRAY_SIZE(policies) ? policies[policy] : NULL;

	if (rt_priority)
		return format("%s %d", name ? name : "?", rt_priority);
	return copy(name ? name : "?");
}

int task_set_affinity(pid_t tid, const struct cpus *cpus)
{
	return sched_setaffinity(tid, sizeof(*cpus), (const cpu_set_t *)cpus) ? -errno : 0;
}

unsigned int task_last_cpu(void)
{
	struct cpus cpus = { 0 };
	unsigned int last = 0;

	sched_getaffinity(0, sizeof(cpus), (cpu_set_t *)&cpus);
	cpus_for_each(cpu, &cpus)
		last = cpu;
	return last;
}
