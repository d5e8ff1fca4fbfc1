// SPDX-License-Identifier: GPL-2.0-or-later
#include "priorities.h"
#include "lib/change.h"
#include "lib/file.h"
#include "lib/message.h"

#include <fnmatch.h>
#include <sched.h>

/* The kernel's own threads of FIFO 99 stop a CPU: those are left alone. */
#define HIGHEST 98
/* But RCU's have it during a change. */
#define RAISED 99

int priorities_parse(struct priorities *priorities, const char *value)
{
	struct priority *item = &priorities->items[priorities->count];
	char *pattern;
	long priority = strtol(value, &pattern, 10);
	size_t blanks = strspn(pattern, " \t");

	pattern += blanks;
	if (priority < 1 || priority > HIGHEST || !blanks || !*pattern ||
	    strlen(pattern) > TASK_NAME_MAX || priorities->count == PRIORITIES_MAX)
		return -EINVAL;
	item->priority = (int)priority;
	strcpy(item->pattern, pattern);
	priorities->count++;
	return 0;
}

/* What it gets by the last line that names it; 0: none does, or it is not to be touched. */
static int wanted_of(struct priorities *priorities, const struct task *task)
{
	int wanted = 0;

	if (!(task->flags & TASK_KERNEL_THREAD) || task->policy == SCHED_DEADLINE ||
	    task->rt_priority > HIGHEST)
		return 0;
	for (unsigned int i = 0; i < priorities->count; i++) {
		struct priority *item = &priorities->items[i];

		if (fnmatch(item->pattern, task->name, 0))
			continue;
		item->found = true;
		wanted = item->priority;
	}
	return wanted;
}

/* A thread is recorded by its number and when it started. */
static int read_thread(const char *what, struct task *task)
{
	unsigned long long start;
	int ret;
	pid_t tid;

	if (sscanf(what, "%d %llu", &tid, &start) != 2)
		return -ESRCH;
	ret = task_read_stat(task, tid, tid);
	return ret || task->start != start || !(task->flags & TASK_KERNEL_THREAD) ? -ESRCH : 0;
}

/* Its policy and priority, as the kernel numbers them. */
static int read_priority(const char *what, struct text *now)
{
	struct task task;
	int ret = read_thread(what, &task);

	if (!ret)
		text_add(now, "%d %d", task.policy, task.rt_priority);
	return ret;
}

static int write_priority(const char *what, const char *value, const char *now)
{
	int policy, priority, ret = -ESRCH;
	struct task task;

	if (!read_thread(what, &task) && sscanf(value, "%d %d", &policy, &priority) == 2)
		ret = change_priority(task.tid, policy, priority);
	return ret && ret != -ESRCH ? failed(ret, "cannot give %s[%d] the priority %d: %s", task.name,
					     task.tid, priority, strerror(-ret)) : ret;
}

static const struct record_kind thread_kind = { read_priority, write_priority };

static void record_thread(struct records *records, const struct task *task, const char *before,
			  const char *wanted)
{
	autofree char *what = format("%d %llu", task->tid, task->start);
	autofree char *now = format("%d %d", task->policy, task->rt_priority);
	struct record *record = records_find(records, what);

	if (record)
		record_set(&record->wanted, wanted);
	else
		records_add(records, what, now, before, wanted);
}

static void name_missing(const struct priorities *priorities)
{
	for (unsigned int i = 0; i < priorities->count; i++)
		if (!priorities->items[i].found)
			notice("no kernel thread is called '%s'", priorities->items[i].pattern);
}

int priorities_plan(struct journal *journal)
{
	struct priorities *priorities = journal->priorities;
	autotasks struct tasks tasks = { 0 };
	int ret = 0;

	if (!priorities)
		return 0;
	records_plan(&journal->threads, &thread_kind);
	if (priorities->count)
		ret = tasks_read(&tasks);
	if (ret)
		return ret;
	tasks_for_each(task, &tasks) {
		const int wanted = wanted_of(priorities, task);
		autofree char *value = format("%d %d", SCHED_FIFO, wanted);

		if (wanted)
			record_thread(&journal->threads, task, "", value);
	}
	name_missing(priorities);
	return 0;
}

int priorities_plan_rcu(struct journal *journal)
{
	autofree char *raised = format("%d %d", SCHED_FIFO, RAISED);
	autotasks struct tasks tasks = { 0 };
	int ret = 0;

	priorities_lower_rcu(journal);
	records_free(&journal->raised);
	if (!change_only_list)
		ret = tasks_read(&tasks);
	if (ret)
		return ret;
	tasks_for_each(task, &tasks)
		if (task->flags & TASK_KERNEL_THREAD && !strncmp(task->name, "rcuc/", 5) &&
		    task->rt_priority < RAISED)
			record_thread(&journal->raised, task, raised, "");
	return 0;
}

void priorities_raise_rcu(const struct journal *journal)
{
	struct task task;

	for (size_t i = 0; i < journal->raised.count; i++)
		if (!read_thread(journal->raised.items[i].what, &task))
			change_priority(task.tid, SCHED_FIFO, RAISED);
}

void priorities_lower_rcu(const struct journal *journal)
{
	records_apply(&journal->raised, &thread_kind);
}

int priorities_apply(const struct journal *journal)
{
	return records_apply(&journal->threads, &thread_kind);
}

/* Whether it has what it is to have; prints what differs. */
static bool verify_thread(struct priorities *priorities, const struct task *task)
{
	int wanted = wanted_of(priorities, task);
	autofree char *is = policy_text(task->policy, task->rt_priority);

	if (!wanted || (task->policy == SCHED_FIFO && task->rt_priority == wanted))
		return true;
	printf("wanted: %s[%d] is FIFO %d\nis:     %s\n", task->name, task->tid, wanted, is);
	return false;
}

int priorities_verify(struct priorities *priorities)
{
	autotasks struct tasks tasks = { 0 };
	int ret = priorities->count ? tasks_read(&tasks) : 0, wrong = 0;

	if (ret)
		return ret;
	tasks_for_each(task, &tasks)
		wrong += !verify_thread(priorities, task);
	name_missing(priorities);
	for (unsigned int i = 0; i < priorities->count; i++)
		wrong += !priorities->items[i].found;
	return wrong;
}
