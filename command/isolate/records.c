// SPDX-License-Identifier: GPL-2.0-or-later
#include "records.h"
#include "lib/message.h"

struct record *records_find(const struct records *records, const char *what)
{
	for (size_t i = 0; i < records->count; i++)
		if (!strcmp(records->items[i].what, what))
			return &records->items[i];
	return NULL;
}

struct record *records_add(struct records *records, const char *what, const char *original,
			   const char *before, const char *wanted)
{
	struct record *record = append(records->items, records->count);

	*record = (struct record){ copy(what), copy(original), copy(before), copy(wanted) };
	return record;
}

void record_set(char **string, const char *value)
{
	char *old = *string;

	*string = copy(value);
	free(old);
}

static void free_record(struct record *record)
{
	free(record->what);
	free(record->original);
	free(record->before);
	free(record->wanted);
}

void records_free(struct records *records)
{
	while (records->count)
		free_record(&records->items[--records->count]);
	free(records->items);
	records->items = NULL;
}

void records_plan(struct records *records, const struct record_kind *kind)
{
	for (size_t i = 0; i < records->count; i++) {
		struct record *record = &records->items[i];
		autotext struct text now = { 0 };
		const int ret = kind->read(record->what, &now);
		const bool ours = !ret && (!strcmp(now.s, record->before) ||
					   !strcmp(now.s, record->wanted));

		if (!ret && !ours)
			record_set(&record->original, now.s);
		record_set(&record->before, ours ? now.s : "");
		record_set(&record->wanted, "");
	}
}

void records_revert(struct records *records)
{
	for (size_t i = 0; i < records->count; i++) {
		struct record *record = &records->items[i];
		char *given = record->wanted;

		record->wanted = record->before;
		record->before = given;
	}
}

static int apply(const struct record *record, const struct record_kind *kind)
{
	const char *value = *record->wanted ? record->wanted : record->original;
	autotext struct text now = { 0 };
	int ret = kind->read(record->what, &now);

	if (ret == -ESRCH || (!*record->wanted && (ret == -ENOENT || strcmp(now.s, record->before))))
		return 0;
	if (ret)
		return failed(ret, "%s: %s", record->what, strerror(-ret));
	ret = strcmp(now.s, value) ? kind->write(record->what, value, now.s) : 0;
	return ret == -ESRCH ? 0 : ret;
}

int records_apply(const struct records *records, const struct record_kind *kind)
{
	int first = 0;

	for (size_t i = 0; i < records->count; i++) {
		int ret = apply(&records->items[i], kind);

		if (!first)
			first = ret;
	}
	return first;
}

void records_forget(struct records *records)
{
	size_t kept = 0;

	for (size_t i = 0; i < records->count; i++) {
		struct record *record = &records->items[i];

		record_set(&record->before, record->wanted);
		if (*record->wanted)
			records->items[kept++] = *record;
		else
			free_record(record);
	}
	records->count = kept;
}
