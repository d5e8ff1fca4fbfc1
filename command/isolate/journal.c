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
 *	value	WHAT	ORIGINAL	BEFORE	WANTED		and so are thread, server, raised
 *	end	CHECKSUM			of all that comes before, FNV-1a
 *
 * What has its checksum is what we wrote: it is read as it stands. Anything else is damaged, and
 * nothing of it is used.
 */
#include "journal.h"
#include "lib/file.h"
#include "lib/message.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define MAX_FIELDS 5u
#define HEADER "timershield-journal\t2\n"
#define END "end\t"

struct setting *journal_setting(const struct journal *journal, const char *path)
{
	for (size_t i = 0; i < journal->nr_settings; i++)
		if (!strcmp(journal->settings[i].path, path))
			return &journal->settings[i];
	return NULL;
}

struct run_group *journal_run(const struct journal *journal, const char *name)
{
	for (size_t i = 0; i < journal->nr_runs; i++)
		if (!strcmp(journal->runs[i].name, name))
			return &journal->runs[i];
	return NULL;
}

struct task_record *journal_task(const struct journal *journal, pid_t tid,
				 unsigned long long start)
{
	for (size_t i = 0; i < journal->nr_tasks; i++)
		if (journal->tasks[i].tid == tid && journal->tasks[i].start == start)
			return &journal->tasks[i];
	return NULL;
}

struct setting *journal_add_setting(struct journal *journal, const char *path,
				    const char *original)
{
	struct setting *setting;

	setting = append(journal->settings, journal->nr_settings);
	*setting = (struct setting){ .path = copy(path), .original = copy(original) };
	return setting;
}

void journal_add_run(struct journal *journal, const char *name, const char *origin, pid_t adopt)
{
	*append(journal->runs, journal->nr_runs) = (struct run_group){
		copy(name), copy(origin), adopt };
}

void journal_drop_run(struct journal *journal, struct run_group *run)
{
	free(run->name);
	free(run->origin);
	*run = journal->runs[--journal->nr_runs];
}

void journal_free(struct journal *journal)
{
	for (size_t i = 0; i < journal->nr_settings; i++) {
		free(journal->settings[i].path);
		free(journal->settings[i].original);
	}
	while (journal->nr_runs)
		journal_drop_run(journal, journal->runs);
	records_free(&journal->values);
	records_free(&journal->threads);
	records_free(&journal->servers);
	records_free(&journal->raised);
	free(journal->settings);
	free(journal->runs);
	free(journal->tasks);
	*journal = (struct journal){ 0 };
}

static bool is_mask(const char *path)
{
	const char *name = strrchr(path, '/');

	return name && (!strcmp(name, "/default_smp_affinity") || !strcmp(name, "/cpumask") ||
			!strcmp(name, "/rps_cpus"));
}

int setting_parse(const char *path, const char *text, struct cpus *cpus)
{
	return is_mask(path) ? cpus_parse_mask(cpus, text) : cpus_parse(cpus, text);
}

char *setting_text(const char *path, const struct cpus *cpus)
{
	return is_mask(path) ? cpus_mask(cpus) : cpus_list(cpus);
}

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

static void add_records(struct text *text, const char *name, const struct records *records)
{
	for (size_t i = 0; i < records->count; i++) {
		const struct record *record = &records->items[i];
		const char * const fields[] = {
			record->what, record->original, record->before, record->wanted,
		};

		text_add(text, "%s", name);
		for (size_t j = 0; j < ARRAY_SIZE(fields); j++) {
			text_add(text, "\t");
			add_escaped(text, fields[j]);
		}
		text_add(text, "\n");
	}
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
	add_records(&text, "value", &journal->values);
	add_records(&text, "thread", &journal->threads);
	add_records(&text, "server", &journal->servers);
	add_records(&text, "raised", &journal->raised);
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

	cpus_parse(&cpus, field);
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

static void read_record(struct journal *journal, char **fields)
{
	struct records *records = *fields[0] == 'v' ? &journal->values :
				  *fields[0] == 't' ? &journal->threads :
				  *fields[0] == 's' ? &journal->servers : &journal->raised;

	for (unsigned int i = 1; i < MAX_FIELDS; i++)
		unescape(fields[i]);
	records_add(records, fields[1], fields[2], fields[3], fields[4]);
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
	{ "value", 5, read_record },
	{ "thread", 5, read_record },
	{ "server", 5, read_record },
	{ "raised", 5, read_record },
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

static int read_boot_id(struct text *boot)
{
	int ret = file_read_line(BOOT_ID, boot);

	if (!ret && !boot->length)
		ret = -ENODATA;
	return ret;
}

int journal_load(struct journal *journal)
{
	autotext struct text text = { 0 }, boot = { 0 };
	int ret;

	*journal = (struct journal){ 0 };
	ret = file_read(JOURNAL_FILE, &text);
	if (!ret)
		ret = read_boot_id(&boot);
	if (!ret)
		ret = journal_parse(journal, text.s, text.length, boot.s);
	if (ret == -ENOENT || ret == -ESTALE) {
		journal_free(journal);
		ret = 0;
	}
	return ret;
}

int journal_save(const struct journal *journal)
{
	autotext struct text boot = { 0 };
	autofree char *text = NULL;
	int ret = read_boot_id(&boot);

	if (ret)
		return ret;
	text = journal_text(journal, boot.s);
	return file_replace(JOURNAL_FILE, text, strlen(text));
}

int journal_remove(void)
{
	autofree char *path = file_path(JOURNAL_FILE), *unfinished = format("%s.new", path);
	int ret = unlink(path) && errno != ENOENT ? -errno : 0;

	if (unlink(unfinished) && errno != ENOENT && !ret)
		ret = -errno;
	return ret;
}

static int lock_file(int fd)
{
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	if (errno == EWOULDBLOCK)
		notice("waiting for another timershield to finish");
	while (flock(fd, LOCK_EX))
		if (errno != EINTR)
			return -errno;
	return fd;
}

int journal_lock(void)
{
	autofree char *path = file_path(RUN_DIRECTORY "/lock"), *directory = file_path(RUN_DIRECTORY);
	int ret = mkdir(directory, 0755) && errno != EEXIST ? -errno : 0, fd;

	if (!ret) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		ret = fd < 0 ? -errno : lock_file(fd);
		if (fd >= 0 && ret < 0)
			close(fd);
	}
	if (ret < 0)
		failed(ret, "%s: %s%s", path, strerror(-ret),
		       ret == -EACCES ? " (run as root)" : "");
	return ret;
}
