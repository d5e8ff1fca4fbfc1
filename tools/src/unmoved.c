// SPDX-License-Identifier: GPL-2.0-or-later
#include "cgroup.h"
#include "file.h"
#include "message.h"
#include "proc.h"
#include "task.h"
#include "unmoved.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define IRQ_DIRECTORY "/proc/irq"

struct search {
	struct unmoved_list *list;
	const struct cpus *shielded;
};

/* The strings become the list's. */
static void add(struct unmoved_list *list, const char *kind, char *id, char *cpus, char *name,
		const char *reason)
{
	list->items = grow(list->items, list->count + 1, sizeof(*list->items));
	list->items[list->count++] = (struct unmoved){ kind, id, cpus, name, copy(reason) };
}

void unmoved_free(struct unmoved_list *list)
{
	while (list->count) {
		struct unmoved *item = &list->items[--list->count];

		free(item->id);
		free(item->cpus);
		free(item->name);
		free(item->reason);
	}
	free(list->items);
	*list = (struct unmoved_list){ 0 };
}

static bool is_in_partition(const struct task *task)
{
	char *group = task->flags & TASK_KERNEL_THREAD ? NULL : cgroup_of(task->pid);
	bool ours = group && cgroup_is_ours(group);

	free(group);
	return ours;
}

static const char *reason_of_task(const struct task *task)
{
	if (!(task->flags & TASK_BOUND))
		return "the kernel kept it there";
	if (cpus_count(&task->cpus) == 1)
		return "per-CPU kernel thread: does this CPU's own work";
	return "kernel thread whose affinity only the kernel may change";
}

static int look_at_task(const struct task *task, void *argument)
{
	const struct search *search = argument;
	struct cpus there = cpus_and(&task->cpus, search->shielded);

	if (!cpus_empty(&there) && !is_in_partition(task))
		add(search->list, "task", format("%d", task->tid), cpus_list(&there),
		    copy(task->name), reason_of_task(task));
	return 0;
}

static int first_directory(const char *name, void *argument)
{
	struct text *path = argument;
	size_t length = path->length;
	bool directory;

	text_add(path, "/%s/.", name);
	directory = file_exists(path->s);
	path->length = length;
	path->s[length] = '\0';
	if (directory)
		text_add(path, "/%s", name);
	return directory;
}

/* The directory that an interrupt's handler has in /proc/irq/N; NULL without handler. */
static char *handler_of(const char *irq)
{
	struct text path = { 0 };
	char *name = NULL;

	text_add(&path, IRQ_DIRECTORY "/%s", irq);
	if (file_for_each(path.s, first_directory, &path) == 1) {
		name = copy(strrchr(path.s, '/') + 1);
		make_printable(name);
	}
	text_free(&path);
	return name;
}

static int read_irq(const char *irq, const char *file, struct cpus *cpus)
{
	char *path = format(IRQ_DIRECTORY "/%s/%s", irq, file);
	struct text text = { 0 };
	int ret = file_read_line(path, &text);

	if (!ret)
		ret = cpus_parse(cpus, text.s, text.length);
	text_free(&text);
	free(path);
	return ret;
}

static const char *reason_of_irq(const struct cpus *affinity, const struct cpus *shielded)
{
	if (!cpus_intersect(affinity, shielded))
		return "moves away when it occurs next";
	if (cpus_subset(affinity, shielded))
		return "directed to shielded CPUs alone, by its smp_affinity or by the kernel";
	return "managed or per-CPU interrupt: only the kernel may direct it";
}

static int look_at_irq(const char *irq, void *argument)
{
	const struct search *search = argument;
	struct cpus affinity, effective, there;
	char *name;

	if (irq[strspn(irq, "0123456789")] || read_irq(irq, "smp_affinity_list", &affinity))
		return 0;
	if (read_irq(irq, "effective_affinity_list", &effective) || cpus_empty(&effective))
		effective = affinity;
	there = cpus_and(&effective, search->shielded);
	if (cpus_empty(&there))
		return 0;
	name = handler_of(irq);
	if (name)
		add(search->list, "irq", copy(irq), cpus_list(&there), name,
		    reason_of_irq(&affinity, search->shielded));
	return 0;
}

/* KIND ID CPUS NAME REASON, after a line that names these. */
static int read_report(struct unmoved_list *list)
{
	struct text text = { 0 };
	int ret = file_read(PROC_REPORT, &text);
	char *rest = text.s, *line;

	while (!ret && (line = strsep(&rest, "\n"))) {
		char *kind = strsep(&line, "\t"), *id = strsep(&line, "\t");
		char *cpus = strsep(&line, "\t"), *name = strsep(&line, "\t");

		if (*kind == '#' || !name || !line)
			continue;
		make_printable(name);
		make_printable(line);
		add(list, strcmp(kind, "irq") ? "task" : "irq", copy(id), copy(cpus), copy(name),
		    line);
	}
	text_free(&text);
	return ret ? failed(ret, PROC_REPORT ": %s", strerror(-ret)) : 0;
}

int unmoved_find(struct unmoved_list *list, enum backend_id backend, const struct cpus *procs,
		 const struct cpus *irqs)
{
	struct search tasks = { list, procs }, interrupts = { list, irqs };
	int ret = 0;

	if (backend == BACKEND_PROC)
		return read_report(list);
	if (!cpus_empty(procs))
		ret = task_for_each(look_at_task, &tasks);
	if (!ret && !cpus_empty(irqs))
		ret = file_for_each(IRQ_DIRECTORY, look_at_irq, &interrupts);
	return ret ? failed(ret, "/proc: %s", strerror(-ret)) : 0;
}
