// SPDX-License-Identifier: GPL-2.0-or-later
#include "task_info.h"

#include "lib/cgroup.h"
#include "lib/file.h"

#define CGROUP "/sys/fs/cgroup"

/* By thread, chained. Not more than there are rows and victims. */
static struct task_info *people[4096];
static unsigned int look = 1;

void task_info_look_again(void)
{
	look++;
}

static u32 process_of(u32 tid)
{
	autofree char *path = format("/proc/%u/status", tid), *number = file_find(path, "\nTgid:");

	return number ? (u32)strtoul(number, NULL, 10) : 0;
}

/* What a process that is about to be gone does not tell stays as it was. */
static void read_process(struct task_info *person)
{
	autofree char *autogroup = format("/proc/%u/autogroup", person->process);
	long long locked = task_number((pid_t)person->process, "status", "VmLck:");
	char *session = file_find(autogroup, "-");

	if (locked >= 0) {
		person->locked = locked;
		person->may_not_lock = !task_may_lock_all((pid_t)person->process);
	}
	if (!session)
		return;
	free(person->session);
	person->session = session;
}

/* How often each group had reached a limit when it was seen first. */
static struct group {
	char *file;
	long long times;
} *groups;
static size_t nr_groups;

/* How often a group has reached its limit since it was seen first; TOTAL: since it was made. */
static long long times_since(const char *file, const char *key, long long *total)
{
	autofree char *number = file_find(file, key);

	*total = number ? atoll(number) : 0;
	for (size_t i = 0; i < nr_groups; i++)
		if (!strcmp(groups[i].file, file))
			return *total - groups[i].times;
	*append(groups, nr_groups) = (struct group){ copy(file), *total };
	return 0;
}

struct limit {
	const char *file, *counters, *key;
};

/* Of its group and those above it, the file of the one that has reached its limit most often. */
static long long find_limit(const struct task_info *person, const struct limit *limit, char **found)
{
	autofree char *group = copy(person->group ? person->group : "/");
	long long most = -1, most_total = -1, total;
	char *end;

	free(*found);
	*found = NULL;
	for (; (end = strrchr(group, '/')) && end[1]; *end = '\0') {
		autofree char *file = format(CGROUP "%s/%s", group, limit->file);
		autofree char *counters = format(CGROUP "%s/%s", group, limit->counters);
		autotext struct text value = { 0 };
		long long since;

		if (file_read(file, &value) || !strncmp(value.s, "max", 3))
			continue;
		since = times_since(counters, limit->key, &total);
		if (since < most || (since == most && total <= most_total))
			continue;
		most = since;
		most_total = total;
		free(*found);
		*found = copy(file);
	}
	return most;
}

static void find_limits(struct task_info *person)
{
	static const struct limit
		memory = { "memory.high", "memory.events", "\nhigh " },
		quota = { "cpu.max", "cpu.stat", "nr_throttled " };

	find_limit(person, &quota, &person->quota);
	if (find_limit(person, &memory, &person->memory) > 0)
		return;
	free(person->memory);
	person->memory = NULL;
}

/* The last part of the path of its group: a systemd unit, as a rule. */
static void read_unit(struct task_info *person)
{
	char *group = cgroup_path((pid_t)person->process);

	if (!group)
		return;
	free(person->unit);
	person->unit = copy(strrchr(group, '/') + 1);
	make_printable(person->unit);
	free(person->group);
	person->group = group;
}

/* Whether it still lives. */
static bool refresh(struct task_info *person)
{
	struct task task, leader;

	person->alive = !task_read(&task, (pid_t)person->tid, (pid_t)person->tid) &&
			(!person->start || person->start == task.start);
	if (!person->alive)
		return false;
	strcpy(person->comm, task.name);
	person->start = task.start;
	person->priority = task.priority;
	person->policy = task.policy;
	person->cpus = task.cpus;
	person->kernel_thread = task.flags & TASK_KERNEL_THREAD;
	if (!person->process)
		person->process = process_of(person->tid);
	if (!task_read_stat(&leader, (pid_t)person->process, (pid_t)person->process))
		strcpy(person->process_comm, leader.name);
	if (person->process)
		read_unit(person);
	read_process(person);
	find_limits(person);
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

void task_info_name(const struct who *who, u64 time)
{
	struct task_info *person = find(who);

	if ((person->alive && person->looked == look) || !who->comm[0] ||
	    (person->named == look && time <= person->named_by))
		return;
	person->named = look;
	person->named_by = time;
	snprintf(person->comm, sizeof(person->comm), "%.*s", COMM_SIZE, who->comm);
	make_printable(person->comm);
}

const struct task_info *task_info_of(const struct who *who)
{
	struct task_info *person = find(who);

	if (person->looked == look)
		return person;
	person->looked = look;
	if (refresh(person))
		return person;
	/* It has ended; its last events know it best. Its group may still be there. */
	find_limits(person);
	task_info_name(who, 0);
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
