// SPDX-License-Identifier: GPL-2.0-or-later
#include "task_info.h"

#include "lib/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CGROUP "/sys/fs/cgroup"

/* By thread, chained. Not more than there are rows and victims. */
static struct task_info *people[4096];

static u32 process_of(u32 tid)
{
	autofree char *path = format("/proc/%u/status", tid);
	autotext struct text status = { 0 };
	const char *line;
	u32 process = 0;

	file_read(path, &status);
	line = strstr(status.s, "\nTgid:");
	if (line)
		process = (u32)strtoul(line + strlen("\nTgid:"), NULL, 10);
	return process;
}

/* Of GROUP and those above it, the first one that is limited. GROUP is cut to its path. */
static void find_quota(struct task_info *person, char *group)
{
	char *end;

	free(person->quota);
	person->quota = NULL;
	for (; (end = strrchr(group, '/')) && end[1]; *end = '\0') {
		autofree char *path = format(CGROUP "%s", group), *file = format("%s/cpu.max", path);
		autotext struct text max = { 0 };

		if (!file_read(file, &max) && strncmp(max.s, "max", 3)) {
			person->quota = copy(path);
			return;
		}
	}
}

/* The last part of its place in cgroup v2: a systemd unit, as a rule. */
static void read_unit(struct task_info *person)
{
	autofree char *path = format("/proc/%u/cgroup", person->process);
	autotext struct text text = { 0 };
	char *group, *last;

	file_read(path, &text);
	group = strstr(text.s, "0::/");
	if (group) {
		group[strcspn(group, "\n")] = '\0';
		last = strrchr(group, '/') + 1;
		free(person->unit);
		person->unit = copy(last);
		make_printable(person->unit);
		find_quota(person, group + strlen("0::"));
	}
}

/*
 * The name that a virtual machine has on QEMU's command line: "-name web01,process=x" or
 * "-name guest=web01"; NULL if it has none. Then that is what its process is called.
 */
static char *machine_name(u32 process)
{
	autofree char *path = format("/proc/%u/cmdline", process);
	autotext struct text line = { 0 };
	const char *program, *word, *next, *guest;
	char *name;

	if (file_read(path, &line))
		return NULL;
	program = strrchr(line.s, '/') ? strrchr(line.s, '/') + 1 : line.s;
	if (strncmp(program, "qemu", 4) && strcmp(program, "kvm"))
		return NULL;
	for (word = line.s; ; word = next) {
		next = word + strlen(word) + 1;
		if (next >= line.s + line.length)
			return NULL;
		if (!strcmp(word, "-name") || !strcmp(word, "--name"))
			break;
	}
	guest = strncmp(next, "guest=", 6) ? strstr(next, ",guest=") : next - 1;
	next = guest ? guest + strlen(",guest=") : next;
	if (strcspn(next, "=") < strcspn(next, ","))
		return NULL;
	name = format("VM %.*s", (int)strcspn(next, ","), next);
	make_printable(name);
	return name;
}

static void call_by_machine(struct task_info *person)
{
	autofree char *machine = person->kernel_thread ? NULL : machine_name(person->process);

	if (!machine)
		return;
	snprintf(person->process_comm, sizeof(person->process_comm), "%s", machine);
	if (person->process == person->tid)
		strcpy(person->comm, person->process_comm);
}

/* Whether it still lives. */
static bool refresh(struct task_info *person)
{
	struct task task, leader;

	person->alive = !task_read_stat(&task, (pid_t)person->tid, (pid_t)person->tid) &&
			(!person->start || person->start == task.start);
	if (!person->alive)
		return false;
	strcpy(person->comm, task.name);
	person->start = task.start;
	person->priority = task.priority;
	person->policy = task.policy;
	person->kernel_thread = task.flags & TASK_KERNEL_THREAD;
	if (!person->process)
		person->process = process_of(person->tid);
	if (!task_read_stat(&leader, (pid_t)person->process, (pid_t)person->process))
		strcpy(person->process_comm, leader.name);
	call_by_machine(person);
	read_unit(person);
	return true;
}

static struct task_info *find(const struct who *who)
{
	struct task_info **at = &people[who->tid % ARRAY_SIZE(people)], *person;

	for (; *at; at = &(*at)->next)
		if ((*at)->tid == who->tid)
			return *at;
	person = grow(NULL, 1, sizeof(*person));
	*person = (struct task_info){ .tid = who->tid, .process = who->tgid };
	person->policy = -1;
	*at = person;
	return person;
}

const struct task_info *task_info_of(const struct who *who)
{
	struct task_info *person = find(who);

	if (refresh(person))
		return person;
	/* It has ended; its last events know it best. */
	snprintf(person->comm, sizeof(person->comm), "%.*s", COMM_SIZE, who->comm);
	make_printable(person->comm);
	if (who->policy != POLICY_UNKNOWN)
		person->policy = (int)who->policy;
	return person;
}

void task_info_note(const struct who *who)
{
	struct task_info *person = find(who);

	if (!person->start)
		refresh(person);
}

bool task_info_is_own(const struct task_info *task)
{
	return task->process == (u32)getpid();
}
