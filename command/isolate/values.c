// SPDX-License-Identifier: GPL-2.0-or-later
#include "values.h"
#include "lib/change.h"
#include "lib/file.h"
#include "lib/message.h"

#include <glob.h>

int values_parse(struct values *values, const char *line)
{
	const size_t length = strcspn(line, " \t");
	const char *text = line + length + strspn(line + length, " \t");
	autofree char *path = format("%.*s", (int)length, line);

	if ((strncmp(path, "/proc/", 6) && strncmp(path, "/sys/", 5)) ||
	    strstr(path, "..") || !*text)
		return -EINVAL;
	values_add(values, path, text);
	return 0;
}

void values_add(struct values *values, const char *path, const char *text)
{
	*append(values->items, values->count) = (struct value){ copy(path), copy(text) };
}

void values_free(struct values *values)
{
	while (values->count) {
		free(values->items[--values->count].path);
		free(values->items[values->count].text);
	}
	free(values->items);
	values->items = NULL;
}

/* Of a file that lists all choices, such as "always [madvise] never", the one in force. */
static int read_value(const char *path, struct text *text)
{
	int ret = file_read_line(path, text);
	char *start = strpbrk(text->s, "[("), *end = start ? strpbrk(start, "])") : NULL;

	if (end) {
		*end = '\0';
		memmove(text->s, start + 1, (size_t)(end - start));
	}
	return ret;
}

static bool has(const char *path, const char *wanted)
{
	autotext struct text now = { 0 };

	return !read_value(path, &now) && !strcmp(now.s, wanted);
}

static void set(char **string, const char *text)
{
	free(*string);
	*string = copy(text);
}

static struct value_record *find(const struct journal *journal, const char *path)
{
	for (size_t i = 0; i < journal->nr_values; i++)
		if (!strcmp(journal->values[i].path, path))
			return &journal->values[i];
	return NULL;
}

/* What is neither of ours, somebody else has written: that is then the original. */
static void plan_known(struct value_record *record)
{
	autotext struct text now = { 0 };
	const int ret = read_value(record->path, &now);
	const bool ours = !ret && (!strcmp(now.s, record->before) ||
				   !strcmp(now.s, record->wanted));

	if (!ret && !ours)
		set(&record->original, now.s);
	set(&record->before, ours ? now.s : "");
	set(&record->wanted, "");
}

static void plan_found(void *argument, const char *path, const char *text)
{
	struct journal *journal = argument;
	struct value_record *record = find(journal, path);
	autotext struct text now = { 0 };

	read_value(path, &now);
	if (!record) {
		record = append(journal->values, journal->nr_values);
		*record = (struct value_record){ copy(path), copy(now.s), copy(""), copy("") };
	}
	set(&record->wanted, text);
}

/* Calls FOUND for each file of that name. How many there are. */
static size_t for_each_file(const struct value *value, void *argument,
			    void (*found)(void *argument, const char *path, const char *text))
{
	autofree char *pattern = file_path(value->path);
	glob_t files = { 0 };
	size_t count = glob(pattern, GLOB_BRACE, NULL, &files) ? 0 : files.gl_pathc;

	for (size_t i = 0; i < count; i++)
		found(argument, files.gl_pathv[i] + strlen(file_root()), value->text);
	globfree(&files);
	return count;
}

void values_plan(struct journal *journal)
{
	const struct values *wanted = journal->given;

	for (size_t i = 0; wanted && i < journal->nr_values; i++)
		plan_known(&journal->values[i]);
	for (size_t i = 0; wanted && i < wanted->count; i++) {
		const struct value *value = &wanted->items[i];

		if (!for_each_file(value, journal, plan_found))
			notice("%s: there is no such file", value->path);
	}
}

void values_revert(struct journal *journal)
{
	for (size_t i = 0; journal->given && i < journal->nr_values; i++) {
		struct value_record *record = &journal->values[i];
		char *given = record->wanted;

		record->wanted = record->before;
		record->before = given;
	}
	journal->given = NULL;
}

static int write_value(const char *path, const char *text, const char *now)
{
	int ret = change_write(path, text);

	if (ret || change_only_list || has(path, text))
		return ret;
	change_write(path, now);
	return -EINVAL;
}

static int apply(const struct value_record *record)
{
	const char *text = *record->wanted ? record->wanted : record->original;
	autotext struct text now = { 0 };
	int ret = read_value(record->path, &now);

	if (!*record->wanted && (ret == -ENOENT || strcmp(now.s, record->before)))
		return 0;
	if (!ret && strcmp(now.s, text))
		ret = write_value(record->path, text, now.s);
	return ret ? failed(ret, "%s: cannot write '%s': %s", record->path, text, strerror(-ret)) : 0;
}

int values_apply(const struct journal *journal)
{
	int first = 0;

	for (size_t i = 0; i < journal->nr_values; i++) {
		int ret = apply(&journal->values[i]);

		if (!first)
			first = ret;
	}
	return first;
}

void values_forget(struct journal *journal)
{
	size_t kept = 0;

	for (size_t i = 0; i < journal->nr_values; i++) {
		struct value_record *record = &journal->values[i];

		set(&record->before, record->wanted);
		if (*record->wanted)
			journal->values[kept++] = *record;
		else
			value_record_free(record);
	}
	journal->nr_values = kept;
}

static void verify_found(void *wrong, const char *path, const char *text)
{
	autotext struct text now = { 0 };
	int ret = read_value(path, &now);

	if (!ret && !strcmp(now.s, text))
		return;
	printf("wanted: %s in %s\nis:     %s\n", text, path, ret ? strerror(-ret) : now.s);
	++*(int *)wrong;
}

int values_verify(const struct values *values)
{
	int wrong = 0;

	for (size_t i = 0; i < values->count; i++) {
		const struct value *value = &values->items[i];

		if (!for_each_file(value, &wrong, verify_found)) {
			printf("wanted: %s in %s\nis:     no such file\n", value->text, value->path);
			wrong++;
		}
	}
	return wrong;
}
