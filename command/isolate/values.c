// SPDX-License-Identifier: GPL-2.0-or-later
#include "values.h"
#include "lib/change.h"
#include "lib/file.h"
#include "lib/message.h"
#include "lib/timers.h"

static int write_value(const char *path, const char *text, const char *now)
{
	int ret = change_write(path, text);

	return ret ? failed(ret, "%s: cannot write '%s': %s", path, text, strerror(-ret)) : 0;
}

static const struct record_kind file_kind = { file_read_line, write_value };

void values_plan(struct journal *journal)
{
	autofree char *mode = format("%d", journal->timers);
	autotext struct text now = { 0 };
	struct record *record;

	if (!journal->gives)
		return;
	records_plan(&journal->values, &file_kind);
	if (journal->timers < 0 || file_read_line(TIMERS_SWITCH, &now))
		return;
	record = records_find(&journal->values, TIMERS_SWITCH);
	if (record)
		record_set(&record->wanted, mode);
	else
		records_add(&journal->values, TIMERS_SWITCH, now.s, "", mode);
}

int values_apply(const struct journal *journal)
{
	return records_apply(&journal->values, &file_kind);
}
