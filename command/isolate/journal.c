// SPDX-License-Identifier: GPL-2.0-or-later
#include "journal.h"

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

void value_record_free(struct value_record *record)
{
	free(record->path);
	free(record->original);
	free(record->before);
	free(record->wanted);
}

void journal_free(struct journal *journal)
{
	while (journal->nr_settings)
		journal_drop_setting(journal, journal->settings);
	while (journal->nr_runs)
		journal_drop_run(journal, journal->runs);
	while (journal->nr_values)
		value_record_free(&journal->values[--journal->nr_values]);
	free(journal->values);
	free(journal->settings);
	free(journal->runs);
	free(journal->tasks);
	free(journal->servers);
	free(journal->threads);
	free(journal->raised);
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
	if (is_mask(path))
		return cpus_parse_mask(cpus, text, strlen(text));
	return cpus_parse(cpus, text, strlen(text));
}

char *setting_text(const char *path, const struct cpus *cpus)
{
	return is_mask(path) ? cpus_mask(cpus) : cpus_list(cpus);
}
