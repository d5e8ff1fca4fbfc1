// SPDX-License-Identifier: GPL-2.0-or-later
#include "undo.h"

#include "lib/cgroup.h"
#include "lib/file.h"
#include "lib/message.h"
#include "lib/timers.h"

#include <fcntl.h>
#include <sys/syscall.h>

#define THERE "there"

static int unload(void)
{
	if (!syscall(SYS_delete_module, TIMERS_MODULE, O_NONBLOCK) || errno == ENOENT)
		return 0;
	return failed(-errno, "cannot unload the module " TIMERS_MODULE ": %s", strerror(errno));
}

static int remove_group(const char *group)
{
	int ret;

	cgroup_write(group, "cgroup.kill", "1");
	ret = cgroup_remove(group);
	return ret ? failed(ret, "%s: %s", group, strerror(-ret)) : 0;
}

/* The switch has a mode; the module and the loads' cgroup are there or not. */
static int read_thing(const char *what, struct text *now)
{
	if (!strcmp(what, TIMERS_SWITCH))
		return file_read_line(what, now);
	text_add(now, "%s", file_exists(strcmp(what, TIMERS_MODULE) ? what : TIMERS_SWITCH) ?
		 THERE : "absent");
	return 0;
}

static int write_thing(const char *what, const char *value, const char *now)
{
	const bool there = !strcmp(value, THERE);

	if (!strcmp(what, TIMERS_SWITCH))
		return timers_set(atoi(value));
	if (!strcmp(what, TIMERS_MODULE))
		return there ? timers_set(TIMERS_CLASSES) : unload();
	return there ? cgroup_make(what) : remove_group(what);
}

static const struct record_kind kind = { read_thing, write_thing };

int undo_begin(struct journal *journal, const char *group, bool load)
{
	struct records *proved = &journal->proved;
	autotext struct text mode = { 0 };
	int ret;

	if (group)
		records_add(proved, group, "absent", "", THERE);
	if (load)
		records_add(proved, TIMERS_MODULE, "absent", "", THERE);
	ret = journal_save(journal);
	if (!ret)
		ret = records_apply(proved, &kind);
	if (!ret && !file_read_line(TIMERS_SWITCH, &mode))
		records_add(proved, TIMERS_SWITCH, mode.s, mode.s, mode.s);
	return ret;
}

int undo_switch(struct journal *journal, int mode)
{
	struct record *record = records_find(&journal->proved, TIMERS_SWITCH);
	autofree char *value = format("%d", mode);
	autotext struct text now = { 0 };
	int ret = file_read_line(TIMERS_SWITCH, &now);

	if (ret || strcmp(now.s, record->wanted))
		return failed(-EBUSY, TIMERS_SWITCH " is no longer %s: somebody else has changed it",
			      record->wanted);
	record_set(&record->before, now.s);
	record_set(&record->wanted, value);
	ret = journal_save(journal);
	return ret ? ret : timers_set(mode);
}

int undo_all(struct journal *journal)
{
	int ret;

	records_plan(&journal->proved, &kind);
	ret = records_apply(&journal->proved, &kind);
	if (ret)
		return ret;
	records_free(&journal->proved);
	return journal_settle(journal);
}

int undo_leftovers(struct journal *journal)
{
	int ret = journal_load(journal);

	if (ret)
		return failed(ret, JOURNAL_FILE ": %s; 'timershield status' says more",
			      ret == -EBADMSG ? "it is damaged" : strerror(-ret));
	if (!journal->proved.count)
		return 0;
	notice("an earlier prove was killed: putting back what it changed");
	return undo_all(journal);
}
