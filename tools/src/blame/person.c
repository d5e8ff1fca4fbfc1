// SPDX-License-Identifier: GPL-2.0-or-later
#include "person.h"

#include "../file.h"
#include "../task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By thread, chained. Not more than there are rows and victims. */
static struct person *people[4096];

static void set_name(char *to, const char *from)
{
	snprintf(to, COMM_SIZE + 1, "%s", from);
	make_printable(to);
}

static u32 process_of(u32 tid)
{
	char *path = format("/proc/%u/status", tid);
	struct text status = { 0 };
	const char *line;
	u32 process = 0;

	file_read(path, &status);
	line = strstr(status.s, "\nTgid:");
	if (line)
		process = (u32)strtoul(line + strlen("\nTgid:"), NULL, 10);
	text_free(&status);
	free(path);
	return process;
}

/* The fields of stat(5) after the name: state is 0, flags 6, priority 15, starttime 19, policy 38. */
static bool read_stat(u32 tid, unsigned long long fields[39])
{
	char *path = format("/proc/%u/stat", tid), *s;
	struct text stat = { 0 };
	unsigned int i = 0;

	memset(fields, 0, 39 * sizeof(*fields));
	file_read(path, &stat);
	s = strrchr(stat.s, ')');
	if (s)
		s += 2;
	for (; s && *s && i < 39; i++) {
		fields[i] = i ? strtoull(s, NULL, 10) : 0;
		s = strchr(s, ' ');
		s = s ? s + 1 : NULL;
	}
	text_free(&stat);
	free(path);
	return i == 39;
}

static void read_comm(u32 tid, char *name)
{
	char *path = format("/proc/%u/comm", tid);
	struct text comm = { 0 };

	if (!file_read_line(path, &comm))
		set_name(name, comm.s);
	text_free(&comm);
	free(path);
}

/* The last part of its place in cgroup v2: a systemd unit, as a rule. */
static void read_unit(struct person *person)
{
	char *path = format("/proc/%u/cgroup", person->process), *group, *last;
	struct text text = { 0 };

	file_read(path, &text);
	group = strstr(text.s, "0::/");
	if (group) {
		group[strcspn(group, "\n")] = '\0';
		last = strrchr(group, '/') + 1;
		free(person->unit);
		person->unit = copy(last);
		make_printable(person->unit);
	}
	text_free(&text);
	free(path);
}

/* Whether it still lives. */
static bool refresh(struct person *person)
{
	unsigned long long fields[39];

	person->alive = read_stat(person->tid, fields) &&
			(!person->start || person->start == fields[19]);
	if (!person->alive)
		return false;
	person->start = fields[19];
	person->priority = (int)(long long)fields[15] + 100;
	person->policy = (int)fields[38];
	person->kernel_thread = fields[6] & IS_KTHREAD;
	if (!person->process)
		person->process = process_of(person->tid);
	read_comm(person->tid, person->comm);
	read_comm(person->process, person->process_comm);
	read_unit(person);
	return true;
}

static struct person *find(const struct who *who)
{
	struct person **at = &people[who->tid % ARRAY_SIZE(people)], *person;

	for (; *at; at = &(*at)->next)
		if ((*at)->tid == who->tid)
			return *at;
	person = grow(NULL, 1, sizeof(*person));
	*person = (struct person){ .tid = who->tid, .process = who->tgid };
	person->policy = -1;
	*at = person;
	return person;
}

const struct person *person_of(const struct who *who)
{
	struct person *person = find(who);

	if (refresh(person))
		return person;
	/* It has ended; its last events know it best. */
	snprintf(person->comm, sizeof(person->comm), "%.*s", COMM_SIZE, who->comm);
	make_printable(person->comm);
	if (who->policy != POLICY_UNKNOWN)
		person->policy = (int)who->policy;
	return person;
}

void person_note(const struct who *who)
{
	struct person *person = find(who);

	if (!person->start)
		refresh(person);
}
