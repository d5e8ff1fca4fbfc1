// SPDX-License-Identifier: GPL-2.0-or-later
#include "task.h"
#include "file.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* PID (NAME) STATE ...; fields are counted from the state. */
static int parse_stat(struct task *task, char *line)
{
	enum { FLAGS = 6, PRIORITY = 15, START = 19, OWN = 37, POLICY = 38 };
	char *name = strchr(line, '('), *rest = strrchr(line, ')'), *word;
	int field = -1;

	if (!name || !rest || rest < name)
		return -EBADMSG;
	*rest++ = '\0';
	snprintf(task->name, sizeof(task->name), "%.*s", TASK_NAME_MAX, name + 1);
	make_printable(task->name);
	for (; (word = strsep(&rest, " ")); field++) {
		if (field == FLAGS)
			task->flags = (unsigned int)strtoul(word, NULL, 10);
		else if (field == PRIORITY)
			task->priority = atoi(word) + 100;
		else if (field == START)
			task->start = strtoull(word, NULL, 10);
		else if (field == OWN)
			task->rt_priority = atoi(word);
		else if (field == POLICY)
			task->policy = atoi(word);
	}
	return field > START ? 0 : -EBADMSG;
}

static int parse_status(struct task *task, const char *text)
{
	const char *key = "\nCpus_allowed_list:";
	const char *at = strstr(text, key);

	if (!at)
		return -EBADMSG;
	at += strlen(key);
	return cpus_parse(&task->cpus, at, strcspn(at, "\n"));
}

static int read_task_file(pid_t pid, pid_t tid, const char *name, struct text *text)
{
	char path[64];
	int ret;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	ret = file_read(path, text);
	return ret == -ENOENT ? -ESRCH : ret;
}

int task_read_stat(struct task *task, pid_t pid, pid_t tid)
{
	autotext struct text text = { 0 };
	int ret = read_task_file(pid, tid, "stat", &text);

	*task = (struct task){ .pid = pid, .tid = tid };
	return ret ? ret : parse_stat(task, text.s);
}

int task_read(struct task *task, pid_t pid, pid_t tid)
{
	autotext struct text text = { 0 };
	int ret = task_read_stat(task, pid, tid);

	if (!ret)
		ret = read_task_file(pid, tid, "status", &text);
	if (!ret)
		ret = parse_status(task, text.s);
	return ret;
}

struct walk {
	int (*function)(const struct task *task, void *argument);
	void *argument;
	pid_t pid;
};

static pid_t parse_id(const char *name)
{
	char *end;
	long id = strtol(name, &end, 10);

	return *name >= '1' && *name <= '9' && !*end && id <= INT_MAX ? (pid_t)id : 0;
}

static int visit_thread(const char *name, void *argument)
{
	const struct walk *walk = argument;
	pid_t tid = parse_id(name);
	struct task task;
	int ret;

	if (!tid)
		return 0;
	ret = task_read(&task, walk->pid, tid);
	if (ret == -ESRCH)
		return 0;
	return ret ? ret : walk->function(&task, walk->argument);
}

static int visit_process(const char *name, void *argument)
{
	struct walk *walk = argument;
	char path[32];
	int ret;

	walk->pid = parse_id(name);
	if (!walk->pid)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/task", walk->pid);
	ret = file_for_each(path, visit_thread, walk);
	return ret == -ENOENT || ret == -ESRCH ? 0 : ret;
}

int task_for_each(int (*function)(const struct task *task, void *argument), void *argument)
{
	struct walk walk = { .function = function, .argument = argument };

	return file_for_each("/proc", visit_process, &walk);
}

int task_for_each_thread(pid_t pid, int (*function)(const struct task *task, void *argument),
			 void *argument)
{
	struct walk walk = { .function = function, .argument = argument, .pid = pid };
	char path[32];
	int ret;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	ret = file_for_each(path, visit_thread, &walk);
	return ret == -ENOENT ? -ESRCH : ret;
}

char *policy_text(int policy, int rt_priority)
{
	static const char * const names[] = {
		[SCHED_OTHER] = "OTHER", [SCHED_FIFO] = "FIFO", [SCHED_RR] = "RR",
		[SCHED_BATCH] = "BATCH", [SCHED_IDLE] = "IDLE",
	};
	const char *name = (size_t)policy < ARRAY_SIZE(names) ? names[policy] : NULL;

	if (rt_priority)
		return format("%s %d", name ? name : "?", rt_priority);
	return copy(name ? name : "?");
}

int task_set_affinity(pid_t tid, const struct cpus *cpus)
{
	return sched_setaffinity(tid, sizeof(*cpus), (const cpu_set_t *)cpus) ? -errno : 0;
}
