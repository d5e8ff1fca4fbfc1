// SPDX-License-Identifier: GPL-2.0-or-later
#include "journal_file.h"
#include "journal_text.h"
#include "lib/file.h"
#include "lib/message.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

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

static int make_directory(void)
{
	autofree char *path = file_path(RUN_DIRECTORY);

	return mkdir(path, 0755) && errno != EEXIST ? -errno : 0;
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
	autofree char *path = file_path(RUN_DIRECTORY "/lock");
	int ret = make_directory(), fd;

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
