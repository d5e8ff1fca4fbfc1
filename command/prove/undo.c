// SPDX-License-Identifier: GPL-2.0-or-later
#include "undo.h"

#include "lib/cgroup.h"
#include "lib/file.h"
#include "lib/message.h"
#include "lib/timers.h"

#include <fcntl.h>
#include <sys/syscall.h>

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

char *undo_text(const struct undo *undo, const char *boot)
{
	return format("boot %s\nswitch %d %d %d\nload %d\ngroup %s\n", boot, undo->before,
		      undo->last, undo->now, undo->load, undo->group ? undo->group : "");
}

int undo_parse(struct undo *undo, const char *text, const char *boot)
{
	autofree char *first = format("boot %s\n", boot);
	int load, end = 0;

	*undo = (struct undo){ .before = -1, .now = -1, .last = -1 };
	if (strncmp(text, "boot ", 5))
		return -EBADMSG;
	if (strncmp(text, first, strlen(first)))
		return 0;		/* of another boot: what it describes is gone */
	text += strlen(first);
	if (sscanf(text, "switch %d %d %d\nload %d\ngroup%n", &undo->before, &undo->last,
		   &undo->now, &load, &end) != 4 || text[end] != ' ' || !strchr(text + end, '\n'))
		return -EBADMSG;
	undo->load = load;
	if (text[end + 1] != '\n')
		undo->group = format("%.*s", (int)strcspn(text + end + 1, "\n"), text + end + 1);
	return 0;
}

static int save(const struct undo *undo)
{
	autotext struct text boot = { 0 };
	autofree char *text = NULL;
	int ret = file_read_line(BOOT_ID, &boot);

	text = undo_text(undo, boot.s);
	if (!ret)
		ret = file_replace(UNDO_FILE, text, strlen(text));
	return ret ? failed(ret, UNDO_FILE ": %s", strerror(-ret)) : 0;
}

int undo_begin(const struct undo *undo)
{
	int ret = save(undo);

	return !ret && undo->group ? cgroup_make(undo->group) : ret;
}

int undo_switch(struct undo *undo, int mode)
{
	int is = timers_get(), ret;

	if (is != undo->now)
		return failed(-EBUSY, TIMERS_SWITCH " is no longer %d: somebody else has changed it",
			      undo->now);
	undo->last = is;
	undo->now = mode;
	ret = save(undo);
	if (!ret)
		ret = timers_set(mode);
	if (!ret)
		undo->last = mode;
	return ret;
}

static int remove_group(const char *group)
{
	int ret;

	/* On a read-only mount rmdir() fails even for a group that does not exist. */
	if (!file_exists(group))
		return 0;
	cgroup_write(group, "cgroup.kill", "1");
	ret = cgroup_remove(group);
	return ret ? failed(ret, "%s: %s", group, strerror(-ret)) : 0;
}

static int unload(void)
{
	if (!syscall(SYS_delete_module, TIMERS_MODULE, O_NONBLOCK) || errno == ENOENT)
		return 0;
	return failed(-errno, "cannot unload the module " TIMERS_MODULE ": %s", strerror(errno));
}

/* As isolate does: a value that is not the one we gave is somebody else's, and stays. */
static int put_switch_back(const struct undo *undo)
{
	int is = timers_get();

	if (is < 0 || is == undo->before || (is != undo->now && is != undo->last))
		return 0;
	return timers_set(undo->before);
}

int undo_all(const struct undo *undo)
{
	int ret = undo->group ? remove_group(undo->group) : 0, other;
	autofree char *path = file_path(UNDO_FILE);

	other = undo->load ? unload() : put_switch_back(undo);
	if (!ret)
		ret = other;
	if (!ret && unlink(path) && errno != ENOENT)
		ret = failed(-errno, UNDO_FILE ": %s", strerror(errno));
	return ret;
}

int undo_leftovers(void)
{
	autotext struct text text = { 0 }, boot = { 0 };
	struct undo undo = { 0 };
	int ret = file_read(UNDO_FILE, &text);

	if (ret == -ENOENT)
		return 0;
	if (!ret)
		ret = file_read_line(BOOT_ID, &boot);
	if (!ret)
		ret = undo_parse(&undo, text.s, boot.s);
	if (ret)
		return failed(ret, UNDO_FILE ": %s; look at kernel.timershield, then remove it",
			      strerror(-ret));
	if (undo.before >= 0 || undo.load || undo.group)
		notice("an earlier prove was killed: putting back what it changed");
	ret = undo_all(&undo);
	free(undo.group);
	return ret;
}
