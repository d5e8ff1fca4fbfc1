// SPDX-License-Identifier: GPL-2.0-or-later
#include "leftovers.h"
#include "lib/file.h"
#include "lib/machine.h"
#include "lib/task.h"
#include "isolation.h"

#define IRQ_DIRECTORY "/proc/irq"

/* The strings become the list's. */
static void add(struct leftovers *list, const char *kind, char *id, const struct cpus *cpus,
		char *name, const char *reason)
{
	*append(list->items, list->count) =
		(struct leftover){ kind, id, name, copy(reason), *cpus };
}

void leftovers_free(struct leftovers *list)
{
	while (list->count) {
		struct leftover *item = &list->items[--list->count];

		free(item->id);
		free(item->name);
		free(item->reason);
	}
	free(list->items);
	*list = (struct leftovers){ 0 };
}

/* Put on isolated CPUs on purpose; or a zombie, which does not run */
static bool belongs_there(const struct task *task, const struct isolation *isolation)
{
	if (task->flags & TASK_KERNEL_THREAD)
		return false;
	if (task->state == 'Z')
		return true;
	return isolation->journal.by_affinity ? cpus_subset(&task->cpus, &isolation->isolated) :
	       partition_has(task->pid);
}

static const char *reason_of_task(const struct task *task, const struct isolation *isolation)
{
	if (!(task->flags & TASK_BOUND) && isolation->journal.by_affinity)
		return "asked for other CPUs, too, or started since: isolate again";
	if (!(task->flags & TASK_BOUND))
		return "the kernel kept it there";
	if (cpus_count(&task->cpus) == 1)
		return "per-CPU kernel thread: does this CPU's own work";
	return "kernel thread whose affinity only the kernel may change";
}

static void look_at_task(struct leftovers *list, const struct isolation *isolation,
			 const struct task *task)
{
	struct cpus there = cpus_and(&task->cpus, &isolation->isolated);

	/* Whatever may run elsewhere is not put on CPUs isolated at boot. */
	if (!cpus_subset(&task->cpus, &isolation->isolated))
		there = cpus_and_not(&there, &isolation->booted);
	if (!cpus_empty(&there) && !belongs_there(task, isolation))
		add(list, "task", format("%d", task->tid), &there,
		    copy(task->name), reason_of_task(task, isolation));
}

/* The directory that an interrupt's handler has in /proc/irq/N; NULL without handler. */
static char *handler_of(const char *irq)
{
	autofree char *directory = format(IRQ_DIRECTORY "/%s", irq);
	autonames struct names names = { 0 };

	file_names(directory, &names);
	for (size_t i = 0; i < names.count; i++) {
		autofree char *path = format("%s/%s/.", directory, names.items[i]);

		if (file_exists(path)) {
			make_printable(names.items[i]);
			return copy(names.items[i]);
		}
	}
	return NULL;
}

static int read_irq(const char *irq, const char *file, struct cpus *cpus)
{
	autofree char *path = format(IRQ_DIRECTORY "/%s/%s", irq, file);

	return file_read_cpus(path, cpus);
}

/* Whether we sent it elsewhere, and something else has sent it back. */
static bool was_sent_back(const char *irq, const struct isolation *isolation)
{
	autofree char *path = format(IRQ_DIRECTORY "/%s/smp_affinity_list", irq);
	const struct record *setting = records_find(&isolation->journal.settings, path);
	struct cpus before = { 0 }, wanted = { 0 };

	if (!setting)
		return false;
	cpus_parse(&before, setting->before);
	cpus_parse(&wanted, setting->wanted);
	return !cpus_intersect(&wanted, &isolation->irqs) &&
	       !cpus_intersect(&before, &isolation->irqs);
}

static const char *reason_of_irq(const char *irq, const struct cpus *affinity,
				 const struct isolation *isolation)
{
	if (!cpus_intersect(affinity, &isolation->irqs))
		return "moves away when it occurs next";
	if (cpus_subset(affinity, &isolation->irqs))
		return "directed only to isolated CPUs, by its smp_affinity or by the kernel";
	if (was_sent_back(irq, isolation))
		return "sent back by something else (irqbalance?): isolate again";
	return "managed or per-CPU interrupt: only the kernel may direct it";
}

static void look_at_irq(struct leftovers *list, const struct isolation *isolation, const char *irq)
{
	struct cpus affinity, effective, there;
	char *name;

	if (irq[strspn(irq, "0123456789")] || read_irq(irq, "smp_affinity_list", &affinity))
		return;
	if (read_irq(irq, "effective_affinity_list", &effective) || cpus_empty(&effective))
		effective = affinity;
	there = cpus_and(&effective, &isolation->irqs);
	if (cpus_empty(&there))
		return;
	name = handler_of(irq);
	if (name)
		add(list, "irq", copy(irq), &there, name,
		    reason_of_irq(irq, &affinity, isolation));
}

/* PATH: /sys/class/net/DEVICE/queues/QUEUE/rps_cpus */
static void look_at_steering(struct leftovers *list, const struct isolation *isolation,
			     const char *path)
{
	char device[64], queue[64];
	autotext struct text text = { 0 };
	struct cpus cpus, there;

	if (sscanf(path, "/sys/class/net/%63[^/]/queues/%63[^/]", device, queue) != 2 ||
	    file_read_line(path, &text) || setting_parse(path, text.s, &cpus))
		return;
	there = cpus_and(&cpus, &isolation->irqs);
	if (!cpus_empty(&there))
		add(list, "queue", copy(queue), &there, copy(device),
		    cpus_subset(&cpus, &isolation->irqs) ? "rps_cpus names only isolated CPUs" :
		    "rps_cpus was changed by something else: isolate again");
}

int leftovers_find(struct leftovers *list, const struct isolation *isolation)
{
	autotasks struct tasks tasks = { 0 };
	autonames struct names irqs = { 0 }, queues = { 0 };
	int ret = cpus_empty(&isolation->isolated) ? 0 : tasks_read(&tasks);

	if (!cpus_empty(&isolation->irqs)) {
		file_names(IRQ_DIRECTORY, &irqs);	/* none: no interrupt can be moved here */
		file_glob(STEERING_FILES, &queues);
	}
	tasks_for_each(task, &tasks)
		look_at_task(list, isolation, task);
	for (size_t i = 0; i < irqs.count; i++)
		look_at_irq(list, isolation, irqs.items[i]);
	for (size_t i = 0; i < queues.count; i++)
		look_at_steering(list, isolation, queues.items[i]);
	return ret;
}
