// SPDX-License-Identifier: GPL-2.0-or-later
#include "file.h"
#include "journal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

static const char * const backend_names[] = {
	[BACKEND_NONE] = "none",
	[BACKEND_PROC] = "proc",
	[BACKEND_CGROUP] = "cgroup",
};

const char *backend_name(enum backend_id id)
{
	return backend_names[id];
}

int backend_parse(const char *name, enum backend_id *id)
{
	if (!strcmp(name, "auto"))
		*id = BACKEND_NONE;
	else if (!strcmp(name, "proc"))
		*id = BACKEND_PROC;
	else if (!strcmp(name, "cgroup"))
		*id = BACKEND_CGROUP;
	else
		return -EINVAL;
	return 0;
}

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

	journal->settings = grow(journal->settings, journal->nr_settings + 1,
				 sizeof(*journal->settings));
	setting = &journal->settings[journal->nr_settings++];
	*setting = (struct setting){ .path = copy(path), .original = copy(original) };
	return setting;
}

void journal_add_run(struct journal *journal, const char *name, const char *origin, pid_t adopt)
{
	journal->runs = grow(journal->runs, journal->nr_runs + 1, sizeof(*journal->runs));
	journal->runs[journal->nr_runs++] = (struct run_group){ copy(name), copy(origin), adopt };
}

void journal_add_task(struct journal *journal, const struct task_record *record)
{
	journal->tasks = grow(journal->tasks, journal->nr_tasks + 1, sizeof(*journal->tasks));
	journal->tasks[journal->nr_tasks++] = *record;
}

void journal_drop_setting(struct journal *journal, struct setting *setting)
{
	free(setting->path);
	free(setting->original);
	*setting = journal->settings[--journal->nr_settings];
}

void journal_drop_run(struct journal *journal, struct run_group *run)
{
	free(run->name);
	free(run->origin);
	*run = journal->runs[--journal->nr_runs];
}

void journal_free(struct journal *journal)
{
	while (journal->nr_settings)
		journal_drop_setting(journal, journal->settings);
	while (journal->nr_runs)
		journal_drop_run(journal, journal->runs);
	free(journal->settings);
	free(journal->runs);
	free(journal->tasks);
	*journal = (struct journal){ 0 };
}

static bool is_mask(const char *path)
{
	const char *name = strrchr(path, '/');

	return name && (!strcmp(name, "/default_smp_affinity") || !strcmp(name, "/cpumask"));
}

int setting_parse(const char *path, const char *text, struct cpus *cpus)
{
	if (is_mask(path))
		return cpus_parse_mask(cpus, text, strlen(text));
	return cpus_parse(cpus, text, strlen(text));
}

char *setting_text(const char *path, const struct cpus *cpus)
{
	return is_mask(path) ? cpus_mask(cpus) : cpus_list(cpus);
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
	struct text text = { 0 }, boot = { 0 };
	int ret;

	*journal = (struct journal){ 0 };
	ret = file_read(JOURNAL_FILE, &text);
	if (!ret) {
		ret = read_boot_id(&boot);
		if (!ret)
			ret = journal_parse(journal, text.s, text.length, boot.s);
	}
	if (ret == -ENOENT || ret == -ESTALE) {
		journal_free(journal);
		ret = 0;
	}
	text_free(&boot);
	text_free(&text);
	return ret;
}

int journal_save(const struct journal *journal)
{
	struct text boot = { 0 };
	int ret = read_boot_id(&boot);
	char *text;

	if (!ret) {
		text = journal_text(journal, boot.s);
		ret = file_replace(JOURNAL_FILE, text, strlen(text));
		free(text);
	}
	text_free(&boot);
	return ret;
}

int journal_remove(void)
{
	char *path = file_path(JOURNAL_FILE), *unfinished = format("%s.new", path);
	int ret = unlink(path) && errno != ENOENT ? -errno : 0;

	if (unlink(unfinished) && errno != ENOENT && !ret)
		ret = -errno;
	free(unfinished);
	free(path);
	return ret;
}
