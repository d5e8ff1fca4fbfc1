// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The journal's text. One line a thing, tab-separated:
 *
 *	timershield-journal	2
 *	boot	IDENTITY
 *	backend	cgroup	enabled		whether we enabled the controller; or affinity	found
 *	state	settled			or changing
 *	procs	WANTED	BEFORE		CPU lists, "none" if empty
 *	irqs	WANTED	BEFORE
 *	set	PATH	ORIGINAL	BEFORE	WANTED
 *	run	NAME	ORIGIN
 *	task	TID	START	CPUS
 *	server	CPU	RUNTIME			of the fair server, in ns
 *	value	PATH	ORIGINAL	BEFORE	WANTED
 *	thread	TID	START	POLICY	PRIORITY	BEFORE	WANTED
 *	raised	TID	START	POLICY	PRIORITY	BEFORE	WANTED
 *	end	CHECKSUM			of all that comes before, FNV-1a
 *
 * What has its checksum is what we wrote: it is read as it stands. Anything else is damaged, and
 * nothing of it is used.
 */
#include "journal_text.h"

#define MAX_FIELDS 7u
#define HEADER "timershield-journal\t2\n"
#define END "end\t"

static unsigned long long checksum(const char *text, size_t length)
{
	unsigned long long sum = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < length; i++)
		sum = (sum ^ (unsigned char)text[i]) * 0x100000001b3ull;
	return sum;
}

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

static void add_value(struct text *text, const struct value_record *record)
{
	const char *fields[] = { record->path, record->original, record->before, record->wanted };

	text_add(text, "value");
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		text_add(text, "\t");
		add_escaped(text, fields[i]);
	}
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
	for (size_t i = 0; i < journal->nr_values; i++)
		add_value(&text, &journal->values[i]);
	for (size_t i = 0; i < journal->nr_threads; i++)
		add_thread(&text, "thread", &journal->threads[i]);
	for (size_t i = 0; i < journal->nr_raised; i++)
		add_thread(&text, "raised", &journal->raised[i]);
	text_add(&text, END "%016llx\n", checksum(text.s, text.length));
	return text.s;
}

static void unescape(char *field)
{
	unsigned int c;
	char *to = field;

	for (; *field; field++, to++) {
		*to = *field;
		if (*field == '%' && sscanf(field + 1, "%2x", &c) == 1) {
			*to = (char)c;
			field += 2;
		}
	}
	*to = '\0';
}

static struct cpus read_cpus(const char *field)
{
	struct cpus cpus = { 0 };

	cpus_parse(&cpus, field, strlen(field));
	return cpus;
}

static void read_setting(struct journal *journal, char **fields)
{
	struct setting *setting;

	unescape(fields[2]);
	setting = journal_add_setting(journal, fields[1], fields[2]);
	setting->before = read_cpus(fields[3]);
	setting->wanted = read_cpus(fields[4]);
}

static void read_run(struct journal *journal, char **fields)
{
	unescape(fields[2]);
	journal_add_run(journal, fields[1], fields[2], 0);
}

static void read_task(struct journal *journal, char **fields)
{
	*append(journal->tasks, journal->nr_tasks) = (struct task_record){
		.tid = atoi(fields[1]), .start = strtoull(fields[2], NULL, 10),
		.cpus = read_cpus(fields[3]) };
}

static void read_server(struct journal *journal, char **fields)
{
	*append(journal->servers, journal->nr_servers) = (struct server_record){
		(unsigned int)atoi(fields[1]), strtoull(fields[2], NULL, 10) };
}

static void read_value(struct journal *journal, char **fields)
{
	for (unsigned int i = 1; i < 5; i++)
		unescape(fields[i]);
	*append(journal->values, journal->nr_values) = (struct value_record){
		copy(fields[1]), copy(fields[2]), copy(fields[3]), copy(fields[4]) };
}

static void read_thread(struct journal *journal, char **fields)
{
	*(*fields[0] == 'r' ? append(journal->raised, journal->nr_raised) :
	  append(journal->threads, journal->nr_threads)) = (struct thread_record){
		atoi(fields[1]), strtoull(fields[2], NULL, 10), atoi(fields[3]), atoi(fields[4]),
		atoi(fields[5]), atoi(fields[6]) };
}

static void read_backend(struct journal *journal, char **fields)
{
	journal->exists = true;
	journal->by_affinity = !strcmp(fields[1], "affinity");
	journal->controller_enabled = !strcmp(fields[2], "enabled");
}

static void read_state(struct journal *journal, char **fields)
{
	journal->changing = !strcmp(fields[1], "changing");
}

static void read_target(struct journal *journal, char **fields)
{
	struct target *target = *fields[0] == 'p' ? &journal->procs : &journal->irqs;

	target->wanted = read_cpus(fields[1]);
	target->before = read_cpus(fields[2]);
}

static const struct kind {
	const char *name;
	unsigned int fields;
	void (*read)(struct journal *journal, char **fields);
} kinds[] = {
	{ "backend", 3, read_backend },
	{ "state", 2, read_state },
	{ "procs", 3, read_target },
	{ "irqs", 3, read_target },
	{ "set", 5, read_setting },
	{ "run", 3, read_run },
	{ "task", 4, read_task },
	{ "server", 3, read_server },
	{ "value", 5, read_value },
	{ "thread", 7, read_thread },
	{ "raised", 7, read_thread },
};

static void read_line(struct journal *journal, char *line)
{
	char *fields[MAX_FIELDS];
	unsigned int count = 0;

	while (line && count < MAX_FIELDS)
		fields[count++] = strsep(&line, "\t");
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (count == kinds[i].fields && !strcmp(fields[0], kinds[i].name))
			kinds[i].read(journal, fields);
}

/* The length of what the checksum at the end covers; 0 if it does not. */
static size_t covered(const char *text, size_t length)
{
	const size_t tail = strlen(END) + 17;
	unsigned long long sum;

	if (length < strlen(HEADER) + tail || memcmp(text, HEADER, strlen(HEADER)) ||
	    sscanf(text + length - tail, END "%16llx", &sum) != 1 || text[length - 1] != '\n' ||
	    sum != checksum(text, length - tail))
		return 0;
	return length - tail;
}

int journal_parse(struct journal *journal, const char *text, size_t length, const char *boot)
{
	const size_t size = covered(text, length);
	autofree char *copied = format("%.*s", (int)size, text);
	autofree char *this_boot = format("boot\t%s\n", boot);
	char *rest = copied + strlen(HEADER), *line;

	*journal = (struct journal){ 0 };
	if (!size)
		return -EBADMSG;
	if (strncmp(rest, this_boot, strlen(this_boot)))
		return -ESTALE;
	while ((line = strsep(&rest, "\n")))
		read_line(journal, line);
	return 0;
}
