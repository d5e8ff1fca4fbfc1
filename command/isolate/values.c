// SPDX-License-Identifier: GPL-2.0-or-later
#include "values.h"
#include "lib/change.h"
#include "lib/file.h"
#include "lib/message.h"

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

static int write_value(const char *path, const char *text, const char *now)
{
	int ret = change_write(path, text);

	if (!ret && !change_only_list && !has(path, text)) {
		change_write(path, now);
		ret = -EINVAL;
	}
	return ret ? failed(ret, "%s: cannot write '%s': %s", path, text, strerror(-ret)) : 0;
}

static const struct record_kind file_kind = { read_value, write_value };

/* What each file of a line gets; of several lines for a file the last counts. How many files. */
static size_t want(struct records *records, const struct value *value)
{
	autonames struct names files = { 0 };

	file_glob(value->path, &files);
	for (size_t i = 0; i < files.count; i++) {
		struct record *record = records_find(records, files.items[i]);
		autotext struct text now = { 0 };

		read_value(files.items[i], &now);
		if (record)
			record_set(&record->wanted, value->text);
		else
			records_add(records, files.items[i], now.s, "", value->text);
	}
	return files.count;
}

void values_plan(struct journal *journal)
{
	const struct values *given = journal->given;

	if (!given)
		return;
	records_plan(&journal->values, &file_kind);
	for (size_t i = 0; i < given->count; i++)
		if (!want(&journal->values, &given->items[i]))
			notice("%s: there is no such file", given->items[i].path);
}

int values_apply(const struct journal *journal)
{
	return records_apply(&journal->values, &file_kind);
}

/* Whether it has what it is to have; prints what differs. */
static bool verify_file(const char *path, const char *text)
{
	autotext struct text now = { 0 };
	int ret = read_value(path, &now);
	const bool right = !ret && !strcmp(now.s, text);

	if (!right)
		printf("wanted: %s in %s\nis:     %s\n", text, path, ret ? strerror(-ret) : now.s);
	return right;
}

int values_verify(const struct values *values)
{
	struct records wanted = { 0 };
	int wrong = 0;

	for (size_t i = 0; i < values->count; i++)
		if (!want(&wanted, &values->items[i]))
			wrong += !verify_file(values->items[i].path, values->items[i].text);
	for (size_t i = 0; i < wanted.count; i++)
		wrong += !verify_file(wanted.items[i].what, wanted.items[i].wanted);
	records_free(&wanted);
	return wrong;
}
