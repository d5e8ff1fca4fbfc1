// SPDX-License-Identifier: GPL-2.0-or-later
#include "isolation.h"
#include "lib/change.h"
#include "lib/file.h"
#include "lib/message.h"
#include "lib/task.h"

#include <sched.h>

#define RAISED 99

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

int rcu_threads_plan(struct journal *journal)
{
	autofree char *raised = format("%d %d", SCHED_FIFO, RAISED);
	autotasks struct tasks tasks = { 0 };
	int ret = 0;

	rcu_threads_lower(journal);
	records_free(&journal->raised);
	if (!change_only_list)
		ret = tasks_read(&tasks);
	if (ret)
		return ret;
	tasks_for_each(task, &tasks) {
		autofree char *what = format("%d %llu", task->tid, task->start);
		autofree char *now = format("%d %d", task->policy, task->rt_priority);

		if (task->flags & TASK_KERNEL_THREAD && !strncmp(task->name, "rcuc/", 5) &&
		    task->rt_priority < RAISED)
			records_add(&journal->raised, what, now, raised, "");
	}
	return 0;
}

void rcu_threads_raise(const struct journal *journal)
{
	struct task task;

	for (size_t i = 0; i < journal->raised.count; i++)
		if (!read_thread(journal->raised.items[i].what, &task))
			change_priority(task.tid, SCHED_FIFO, RAISED);
}

void rcu_threads_lower(const struct journal *journal)
{
	records_apply(&journal->raised, &thread_kind);
}
