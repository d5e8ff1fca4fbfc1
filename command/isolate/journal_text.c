// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The journal's text. One line a thing, tab-separated:
 *
 *	timershield-journal	1
 *	boot	IDENTITY
 *	backend	cgroup	enabled		whether we enabled the controller; or affinity	found
 *	state	settled			or changing
 *	procs	WANTED	BEFORE		CPU lists, "none" if empty
 *	irqs	WANTED	BEFORE
 *	set	PATH	ORIGINAL	BEFORE	WANTED
 *	run	NAME	ORIGIN
 *	task	TID	START	CPUS
 *	server	CPU	RUNTIME			of the fair server, in ns
 *	thread	TID	START	POLICY	PRIORITY	BEFORE	WANTED
 *	raised	TID	START	POLICY	PRIORITY	BEFORE	WANTED
 *	end
 */
#include "journal_text.h"
#include "lib/text.h"

#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FIELDS 7u
#define HEADER "timershield-journal\t1\n"
#define END "end\n"

/* A cgroup's name may hold anything but a newline. */
static void add_escaped(struct text *text, const char *field)
{
	for (; *field; field++) {
		unsigned char c = (unsigned char)*field;

		if (c < ' ' || c == 0x7f || c == '%')
			text_add(text, "%%%02x", c);
		else
			text_add_bytes(text, field, 1);
	}
}

static void add_cpus(struct text *text, const struct cpus *cpus)
{
	autofree char *list = cpus_list(cpus);

	text_add(text, "\t%s", *list ? list : "none");
}

static void add_target(struct text *text, const char *name, const struct target *target)
{
	text_add(text, "%s", name);
	add_cpus(text, &target->wanted);
	add_cpus(text, &target->before);
	text_add(text, "\n");
}

static void add_setting(struct text *text, const struct setting *setting)
{
	text_add(text, "set\t%s\t", setting->path);
	add_escaped(text, setting->original);
	add_cpus(text, &setting->before);
	add_cpus(text, &setting->wanted);
	text_add(text, "\n");
}

static void add_run(struct text *text, const struct run_group *run)
{
	text_add(text, "run\t%s\t", run->name);
	add_escaped(text, run->origin);
	text_add(text, "\n");
}

static void add_thread(struct text *text, const char *name, const struct thread_record *record)
{
	text_add(text, "%s\t%d\t%llu\t%d\t%d\t%d\t%d\n", name, record->tid, record->start,
		 record->policy, record->priority, record->before, record->wanted);
}

char *journal_text(const struct journal *journal, const char *boot)
{
	struct text text = { 0 };

	text_add(&text, HEADER "boot\t%s\nbackend\t%s\t%s\nstate\t%s\n", boot,
		 journal->by_affinity ? "affinity" : "cgroup",
		 journal->controller_enabled ? "enabled" : "found",
		 journal->changing ? "changing" : "settled");
	add_target(&text, "procs", &journal->procs);
	add_target(&text, "irqs", &journal->irqs);
	for (size_t i = 0; i < journal->nr_settings; i++)
		add_setting(&text, &journal->settings[i]);
	for (size_t i = 0; i < journal->nr_runs; i++)
		add_run(&text, &journal->runs[i]);
	for (size_t i = 0; i < journal->nr_tasks; i++) {
		text_add(&text, "task\t%d\t%llu", journal->tasks[i].tid, journal->tasks[i].start);
		add_cpus(&text, &journal->tasks[i].cpus);
		text_add(&text, "\n");
	}
	for (size_t i = 0; i < journal->nr_servers; i++)
		text_add(&text, "server\t%u\t%llu\n", journal->servers[i].cpu,
			 journal->servers[i].runtime);
	for (size_t i = 0; i < journal->nr_threads; i++)
		add_thread(&text, "thread", &journal->threads[i]);
	for (size_t i = 0; i < journal->nr_raised; i++)
		add_thread(&text, "raised", &journal->raised[i]);
	text_add(&text, END);
	return text.s;
}

struct line {
	char *fields[MAX_FIELDS];
	unsigned int count;
};

struct parser {
	struct journal *journal;
	const char *boot;
	bool boot_seen, boot_differs;
};

static int unescape(char *field)
{
	char *to = field;

	for (; *field; field++, to++) {
		*to = *field;
		if (*field == '%') {
			unsigned int c;

			if (!isxdigit((unsigned char)field[1]) ||
			    !isxdigit((unsigned char)field[2]) ||
			    sscanf(field + 1, "%2x", &c) != 1 || !c)
				return -EBADMSG;
			*to = (char)c;
			field += 2;
		}
	}
	*to = '\0';
	return 0;
}

static int parse_cpus(const char *field, struct cpus *cpus)
{
	return *field && !cpus_parse(cpus, field, strlen(field)) ? 0 : -EBADMSG;
}

static int parse_unsigned(const char *field, unsigned long long max, unsigned long long *number)
{
	char *end;

	errno = 0;
	*number = strtoull(field, &end, 10);
	if (errno || *field < '0' || *field > '9' || *end || *number > max)
		return -EBADMSG;
	return 0;
}

static int parse_boot(struct parser *parser, char **fields)
{
	parser->boot_seen = true;
	parser->boot_differs = strcmp(fields[1], parser->boot) != 0;
	return 0;
}

static int parse_backend(struct parser *parser, char **fields)
{
	struct journal *journal = parser->journal;

	journal->by_affinity = !strcmp(fields[1], "affinity");
	if (!journal->by_affinity && strcmp(fields[1], "cgroup"))
		return -EBADMSG;
	journal->exists = true;
	journal->controller_enabled = !strcmp(fields[2], "enabled");
	return journal->controller_enabled || !strcmp(fields[2], "found") ? 0 : -EBADMSG;
}

static int parse_state(struct parser *parser, char **fields)
{
	parser->journal->changing = !strcmp(fields[1], "changing");
	return parser->journal->changing || !strcmp(fields[1], "settled") ? 0 : -EBADMSG;
}

static int parse_target(struct parser *parser, char **fields)
{
	struct journal *journal = parser->journal;
	struct target *target = strcmp(fields[0], "procs") ? &journal->irqs : &journal->procs;
	int ret = parse_cpus(fields[1], &target->wanted);

	return ret ? ret : parse_cpus(fields[2], &target->before);
}

/* "/a/../b" does, "/..a" does not. */
static bool leads_up(const char *path)
{
	const char *at = strstr(path, "/..");

	return at && (!at[3] || at[3] == '/' || leads_up(at + 1));
}

/* "/sys/class/net/DEVICE/queues/rx-N/rps_cpus", or "threaded" of a device */
static bool is_of_network(const char *path)
{
	unsigned int queue;
	int used = 0;

	sscanf(path, "/sys/class/net/%*15[^/]/queues/rx-%9u/rps_cpus%n", &queue, &used);
	if (!used)
		sscanf(path, "/sys/class/net/%*15[^/]/threaded%n", &used);
	return used && !path[used] && !leads_up(path);
}

/* Nothing that a damaged journal names may be written but what we ourselves write. */
static bool is_our_path(const char *path)
{
	unsigned int irq;
	int used = 0;

	if (!strcmp(path, "/proc/irq/default_smp_affinity") ||
	    !strcmp(path, "/sys/devices/virtual/workqueue/cpumask") || is_of_network(path))
		return true;
	return sscanf(path, "/proc/irq/%9u/smp_affinity_list%n", &irq, &used) == 1 &&
	       used && !path[used] && path[10] >= '0' && path[10] <= '9';
}

static int parse_setting(struct parser *parser, char **fields)
{
	struct journal *journal = parser->journal;
	struct cpus original, before, wanted;
	struct setting *setting;

	if (!is_our_path(fields[1]) || journal_setting(journal, fields[1]) ||
	    unescape(fields[2]) || setting_parse(fields[1], fields[2], &original) ||
	    parse_cpus(fields[3], &before) || parse_cpus(fields[4], &wanted))
		return -EBADMSG;
	setting = journal_add_setting(journal, fields[1], fields[2]);
	setting->before = before;
	setting->wanted = wanted;
	return 0;
}

static int parse_run(struct parser *parser, char **fields)
{
	const char *digits = fields[1] + strlen("run-");

	if (strncmp(fields[1], "run-", strlen("run-")) || !*digits ||
	    digits[strspn(digits, "0123456789")] || journal_run(parser->journal, fields[1]))
		return -EBADMSG;
	if (unescape(fields[2]) || fields[2][0] != '/' || leads_up(fields[2]))
		return -EBADMSG;
	journal_add_run(parser->journal, fields[1], fields[2], 0);
	return 0;
}

static int parse_task(struct parser *parser, char **fields)
{
	struct task_record record = { 0 };
	unsigned long long tid;

	if (parse_unsigned(fields[1], INT_MAX, &tid) || !tid ||
	    parse_unsigned(fields[2], ULLONG_MAX, &record.start) ||
	    parse_cpus(fields[3], &record.cpus) || cpus_empty(&record.cpus))
		return -EBADMSG;
	record.tid = (pid_t)tid;
	*append(parser->journal->tasks, parser->journal->nr_tasks) = record;
	return 0;
}

static int parse_server(struct parser *parser, char **fields)
{
	struct journal *journal = parser->journal;
	unsigned long long cpu, runtime;

	if (parse_unsigned(fields[1], CPUS_MAX - 1, &cpu) ||
	    parse_unsigned(fields[2], LLONG_MAX, &runtime) || !runtime)
		return -EBADMSG;
	*append(journal->servers, journal->nr_servers) =
		(struct server_record){ (unsigned int)cpu, runtime };
	return 0;
}

static int parse_thread(struct parser *parser, char **fields)
{
	struct journal *journal = parser->journal;
	struct thread_record *record;
	unsigned long long tid, start, numbers[4];

	if (parse_unsigned(fields[1], INT_MAX, &tid) || !tid ||
	    parse_unsigned(fields[2], ULLONG_MAX, &start))
		return -EBADMSG;
	for (unsigned int i = 0; i < ARRAY_SIZE(numbers); i++)
		if (parse_unsigned(fields[3 + i], i ? 99 : SCHED_IDLE, &numbers[i]))
			return -EBADMSG;
	record = strcmp(fields[0], "raised") ? append(journal->threads, journal->nr_threads) :
					       append(journal->raised, journal->nr_raised);
	*record = (struct thread_record){ (pid_t)tid, start, (int)numbers[0], (int)numbers[1],
					  (int)numbers[2], (int)numbers[3] };
	return 0;
}

static const struct kind {
	const char *name;
	unsigned int fields;
	int (*parse)(struct parser *parser, char **fields);
} kinds[] = {
	{ "boot", 2, parse_boot },
	{ "backend", 3, parse_backend },
	{ "state", 2, parse_state },
	{ "procs", 3, parse_target },
	{ "irqs", 3, parse_target },
	{ "set", 5, parse_setting },
	{ "run", 3, parse_run },
	{ "task", 4, parse_task },
	{ "server", 3, parse_server },
	{ "thread", 7, parse_thread },
	{ "raised", 7, parse_thread },
};

static void split(char *text, struct line *line)
{
	line->count = 0;
	while (text && line->count < MAX_FIELDS)
		line->fields[line->count++] = strsep(&text, "\t");
	if (text)
		line->count = 0;
}

static int parse_line(struct parser *parser, char *text)
{
	struct line line;

	split(text, &line);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (line.count == kinds[i].fields && !strcmp(line.fields[0], kinds[i].name))
			return kinds[i].parse(parser, line.fields);
	return -EBADMSG;
}

/* Lines that are cut off or make no sense are left out. */
static int parse_lines(struct parser *parser, const char *text, size_t length)
{
	int ret = 0;

	while (length) {
		const char *end = memchr(text, '\n', length);
		size_t size = end ? (size_t)(end - text) : length;
		autotext struct text line = { 0 };

		text_add_bytes(&line, text, size);
		if (!end || memchr(line.s, '\0', size) || parse_line(parser, line.s))
			ret = -EBADMSG;
		size += !!end;
		text += size;
		length -= size;
	}
	return ret;
}

int journal_parse(struct journal *journal, const char *text, size_t length, const char *boot)
{
	struct parser parser = { .journal = journal, .boot = boot };
	const size_t header = strlen(HEADER), end = strlen(END);
	bool whole;
	int ret;

	*journal = (struct journal){ 0 };
	if (length < header || memcmp(text, HEADER, header))
		return -EBADMSG;
	whole = length >= header + end && !memcmp(text + length - end, END, end);
	ret = parse_lines(&parser, text + header, length - header - (whole ? end : 0));
	if (!whole || !parser.boot_seen || !journal->exists)
		ret = -EBADMSG;
	return !ret && parser.boot_differs ? -ESTALE : ret;
}
