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

static bool has(const struct task *task, int priority)
{
	return priority && task->policy == SCHED_FIFO && task->rt_priority == priority;
}

static bool read_thread(struct task *task, const struct thread_record *record)
{
	return !task_read_stat(task, record->tid, record->tid) && task->start == record->start &&
	       task->flags & TASK_KERNEL_THREAD;
}

static void plan_known(struct priorities *priorities, struct thread_record *record)
{
	struct task task;
	bool ours;

	if (!read_thread(&task, record)) {
		record->before = record->wanted = 0;
		return;
	}
	ours = has(&task, record->before) || has(&task, record->wanted);
	record->before = ours ? task.rt_priority : 0;
	if (!ours) {
		record->policy = task.policy;
		record->priority = task.rt_priority;
	}
	record->wanted = wanted_of(priorities, &task);
}

static void plan_thread(struct journal *journal, const struct task *task)
{
	struct thread_record record = {
		.tid = task->tid, .start = task->start, .policy = task->policy,
		.priority = task->rt_priority, .wanted = wanted_of(journal->priorities, task),
	};

	for (size_t i = 0; i < journal->nr_threads; i++)
		if (journal->threads[i].tid == record.tid &&
		    journal->threads[i].start == record.start)
			return;
	if (record.wanted)
		*append(journal->threads, journal->nr_threads) = record;
}

static void name_missing(const struct priorities *priorities)
{
	for (unsigned int i = 0; i < priorities->count; i++)
		if (!priorities->items[i].found)
			notice("no kernel thread is called '%s'", priorities->items[i].pattern);
}

static int cannot_list(int error)
{
	return failed(error, "/proc: cannot list tasks: %s", strerror(-error));
}

int priorities_plan(struct journal *journal)
{
	struct priorities *priorities = journal->priorities;
	autotasks struct tasks tasks = { 0 };
	int ret = 0;

	if (!priorities)
		return 0;
	for (size_t i = 0; i < journal->nr_threads; i++)
		plan_known(priorities, &journal->threads[i]);
	if (priorities->count)
		ret = tasks_read(&tasks);
	if (ret)
		return cannot_list(ret);
	tasks_for_each(task, &tasks)
		plan_thread(journal, task);
	name_missing(priorities);
	return 0;
}

static void plan_rcu_thread(struct journal *journal, const struct task *task)
{
	struct thread_record record = {
		.tid = task->tid, .start = task->start, .policy = task->policy,
		.priority = task->rt_priority, .before = RAISED,
	};

	if (task->flags & TASK_KERNEL_THREAD && !strncmp(task->name, "rcuc/", strlen("rcuc/")) &&
	    task->rt_priority < RAISED)
		*append(journal->raised, journal->nr_raised) = record;
}

int priorities_plan_rcu(struct journal *journal)
{
	autotasks struct tasks tasks = { 0 };
	int ret = 0;

	priorities_lower_rcu(journal);
	journal->nr_raised = 0;
	if (!change_only_list)
		ret = tasks_read(&tasks);
	if (ret)
		return cannot_list(ret);
	tasks_for_each(task, &tasks)
		plan_rcu_thread(journal, task);
	return 0;
}

void priorities_raise_rcu(const struct journal *journal)
{
	for (size_t i = 0; i < journal->nr_raised; i++)
		change_priority(journal->raised[i].tid, SCHED_FIFO, RAISED);
}

void priorities_revert(struct journal *journal)
{
	for (size_t i = 0; journal->priorities && i < journal->nr_threads; i++) {
		struct thread_record *record = &journal->threads[i];
		int given = record->wanted;

		record->wanted = record->before;
		record->before = given;
	}
	journal->priorities = NULL;
}

static int apply(const struct thread_record *records, size_t count)
{
	int first = 0;

	for (size_t i = 0; i < count; i++) {
		const struct thread_record *record = &records[i];
		int policy = record->wanted ? SCHED_FIFO : record->policy, ret;
		int priority = record->wanted ? record->wanted : record->priority;
		struct task task;

		/* what is not ours, somebody else has given it */
		if (!read_thread(&task, record) || has(&task, record->wanted) ||
		    (!record->wanted && !has(&task, record->before)))
			continue;
		ret = change_priority(record->tid, policy, priority);
		if (ret && ret != -ESRCH && !first)
			first = failed(ret, "cannot give %s[%d] the priority %d: %s", task.name,
				       task.tid, priority, strerror(-ret));
	}
	return first;
}

void priorities_lower_rcu(const struct journal *journal)
{
	apply(journal->raised, journal->nr_raised);
}

int priorities_apply(const struct journal *journal)
{
	return apply(journal->threads, journal->nr_threads);
}

void priorities_forget(struct journal *journal)
{
	size_t kept = 0;

	journal->nr_raised = 0;
	for (size_t i = 0; i < journal->nr_threads; i++) {
		journal->threads[i].before = journal->threads[i].wanted;
		if (journal->threads[i].wanted)
			journal->threads[kept++] = journal->threads[i];
	}
	journal->nr_threads = kept;
}

/* Whether it has what it is to have; prints what differs. */
static bool verify_thread(struct priorities *priorities, const struct task *task)
{
	int wanted = wanted_of(priorities, task);
	autofree char *is = policy_text(task->policy, task->rt_priority);

	if (!wanted || has(task, wanted))
		return true;
	printf("wanted: %s[%d] is FIFO %d\nis:     %s\n", task->name, task->tid, wanted, is);
	return false;
}

int priorities_verify(struct priorities *priorities)
{
	autotasks struct tasks tasks = { 0 };
	int ret = priorities->count ? tasks_read(&tasks) : 0, wrong = 0;

	if (ret)
		return cannot_list(ret);
	tasks_for_each(task, &tasks)
		wrong += !verify_thread(priorities, task);
	name_missing(priorities);
	for (unsigned int i = 0; i < priorities->count; i++)
		wrong += !priorities->items[i].found;
	return wrong;
}
