// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The journal's text. One line a thing, tab-separated, tabs and the like as % and two hex digits:
 *
 *	timershield-journal	2
 *	boot	IDENTITY
 *	backend	cgroup	enabled		whether we enabled the controller; or affinity	found
 *	state	settled			or changing; without a backend nothing was isolated
 *	procs	CPUS	BEFORE		lists
 *	irqs	CPUS			and an empty field, which 2.0.0 expects
 *	run	NAME	ORIGIN
 *	task	TID	START	CPUS
 *	value	WHAT	ORIGINAL	BEFORE	WANTED	and so are set, raised, proved
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
#define LOCK_FILE RUN_DIRECTORY "/lock"
#define MAX_FIELDS 5u
#define HEADER "timershield-journal\t2\n"
#define END "end\t"

static const char * const record_names[JOURNAL_RECORDS] = {
	"set", "value", "raised", "proved",
};

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
	while (journal->nr_runs)
		journal_drop_run(journal, journal->runs);
	for (size_t i = 0; i < JOURNAL_RECORDS; i++)
		records_free(&journal->records[i]);
	free(journal->runs);
	free(journal->tasks);
	*journal = (struct journal){ 0 };
}

static unsigned long long checksum(const char *text, size_t length)
{
	unsigned long long sum = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < length; i++)
		sum = (sum ^ (unsigned char)text[i]) * 0x100000001b3ull;
	return sum;
}

/* Those after the last one are NULL. */
static void add_line(struct text *text, const char * const fields[MAX_FIELDS])
{
	for (unsigned int i = 0; i < MAX_FIELDS && fields[i]; i++) {
		text_add(text, "%s", i ? "\t" : "");
		for (const char *at = fields[i]; *at; at++) {
			unsigned char c = (unsigned char)*at;

			text_add(text, c < ' ' || c == 0x7f || c == '%' ? "%%%02x" : "%c", c);
		}
	}
	text_add(text, "\n");
}

static void add_records(struct text *text, const char *name, const struct records *records)
{
	for (size_t i = 0; i < records->count; i++) {
		const struct record *it = &records->items[i];

		add_line(text, (const char *[MAX_FIELDS]){ name, it->what, it->original, it->before,
							   it->wanted });
	}
}

char *journal_text(const struct journal *journal, const char *boot)
{
	autofree char *procs = cpus_list(&journal->procs), *irqs = cpus_list(&journal->irqs);
	autofree char *before = cpus_list(&journal->procs_before);
	struct text text = { 0 };

	text_add(&text, HEADER "boot\t%s\n", boot);
	if (journal->exists)
		text_add(&text, "backend\t%s\t%s\n", journal->by_affinity ? "affinity" : "cgroup",
			 journal->controller_enabled ? "enabled" : "found");
	text_add(&text, "state\t%s\n", journal->changing ? "changing" : "settled");
	text_add(&text, "procs\t%s\t%s\nirqs\t%s\t\n", procs, before, irqs);
	for (size_t i = 0; i < journal->nr_runs; i++)
		add_line(&text, (const char *[MAX_FIELDS]){ "run", journal->runs[i].name,
							    journal->runs[i].origin });
	for (size_t i = 0; i < journal->nr_tasks; i++) {
		const struct task_record *task = &journal->tasks[i];
		autofree char *list = cpus_list(&task->cpus);

		text_add(&text, "task\t%d\t%llu\t%s\n", task->tid, task->start, list);
	}
	for (size_t i = 0; i < JOURNAL_RECORDS; i++)
		add_records(&text, record_names[i], &journal->records[i]);
	text_add(&text, END "%016llx\n", checksum(text.s, text.length));
	return text.s;
}

static void read_line(struct journal *journal, char *line)
{
	char *fields[MAX_FIELDS] = { 0 };
	struct task_record *task;

	for (unsigned int i = 0; line && i < MAX_FIELDS; i++) {
		fields[i] = strsep(&line, "\t");
		unescape(fields[i], '%', "%2x%n");
	}
	if (!strcmp(fields[0], "backend")) {
		journal->exists = true;
		journal->by_affinity = !strcmp(fields[1], "affinity");
		journal->controller_enabled = !strcmp(fields[2], "enabled");
	} else if (!strcmp(fields[0], "state")) {
		journal->changing = !strcmp(fields[1], "changing");
	} else if (!strcmp(fields[0], "procs")) {
		cpus_parse(&journal->procs, fields[1]);
		cpus_parse(&journal->procs_before, fields[2]);
	} else if (!strcmp(fields[0], "irqs")) {
		cpus_parse(&journal->irqs, fields[1]);
	} else if (!strcmp(fields[0], "run")) {
		journal_add_run(journal, fields[1], fields[2], 0);
	} else if (!strcmp(fields[0], "task")) {
		task = append(journal->tasks, journal->nr_tasks);
		*task = (struct task_record){ .tid = atoi(fields[1]),
					      .start = strtoull(fields[2], NULL, 10) };
		cpus_parse(&task->cpus, fields[3]);
	}
	for (size_t i = 0; i < JOURNAL_RECORDS; i++)
		if (!strcmp(fields[0], record_names[i]))
			records_add(&journal->records[i], fields[1], fields[2], fields[3],
				    fields[4]);
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

int journal_load(struct journal *journal)
{
	autotext struct text text = { 0 }, boot = { 0 };
	int ret = file_read(JOURNAL_FILE, &text);

	*journal = (struct journal){ 0 };
	if (!ret)
		ret = file_read_line(BOOT_ID, &boot);
	if (!ret)
		ret = journal_parse(journal, text.s, text.length, boot.s);
	return ret == -ENOENT || ret == -ESTALE ? 0 : ret;
}

/* In the file that is the lock: room for what an undo has to write where /run is full. */
static int reserve(size_t length)
{
	autofree char *path = file_path(LOCK_FILE);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = fd < 0 || ftruncate(fd, 0) || (length && fallocate(fd, 0, 0, (off_t)length)) ?
		  -errno : 0;

	if (fd >= 0)
		close(fd);
	return ret == -EOPNOTSUPP || ret == -ENOENT ? 0 : ret;
}

static int write_journal(const struct journal *journal)
{
	autotext struct text boot = { 0 };
	autofree char *text = NULL;
	int ret = file_read_line(BOOT_ID, &boot);
	size_t length;

	if (ret)
		return ret;
	text = journal_text(journal, boot.s);
	length = strlen(text);
	ret = reserve(2 * length);
	if (ret && (ret != -ENOSPC || !file_exists(JOURNAL_FILE)))
		return ret;
	ret = file_replace(JOURNAL_FILE, text, length);
	if (ret == -ENOSPC && !reserve(0))
		ret = file_replace(JOURNAL_FILE, text, length);
	return ret;
}

int journal_save(const struct journal *journal)
{
	int ret = write_journal(journal);

	return ret ? failed(ret, JOURNAL_FILE ": cannot write it: %s", strerror(-ret)) : 0;
}

int journal_settle(const struct journal *journal)
{
	autofree char *lock = file_path(LOCK_FILE);
	autofree char *path = file_path(JOURNAL_FILE), *unfinished = format("%s.new", path);
	int ret;

	if (!cpus_empty(&journal->procs) || !cpus_empty(&journal->irqs) || journal->values.count ||
	    journal->proved.count)
		return journal_save(journal);
	ret = unlink(path) && errno != ENOENT ? -errno : 0;
	if (unlink(unfinished) && errno != ENOENT && !ret)
		ret = -errno;
	if (truncate(lock, 0) && errno != ENOENT && !ret)
		ret = -errno;
	return ret ? failed(ret, JOURNAL_FILE ": %s", strerror(-ret)) : 0;
}

int journal_lock(void)
{
	autofree char *path = file_path(LOCK_FILE), *directory = file_path(RUN_DIRECTORY);
	int fd = mkdir(directory, 0755) && errno != EEXIST ? -1 :
		 open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	int ret = fd < 0 ? -errno : 0;

	if (!ret && flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno == EWOULDBLOCK)
			notice("waiting for another timershield to finish");
		ret = TEMP_FAILURE_RETRY(flock(fd, LOCK_EX)) ? -errno : 0;
	}
	if (!ret)
		return fd;
	if (fd >= 0)
		close(fd);
	return failed(ret, "%s: %s%s", path, strerror(-ret),
		      ret == -EACCES ? " (run as root)" : "");
}
