// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int file_write(const char *path, const char *text)
{
	size_t length = strlen(text);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, length);
	if (n < 0)
		ret = -errno;
	else if ((size_t)n != length)
		ret = -EIO;
	close(fd);
	return ret;
}

int file_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, text + used, size - 1 - used)) > 0)
		used += n;
	if (n < 0)
		n = -errno;
	close(fd);
	text[used] = '\0';
	return n < 0 ? (int)n : (int)used;
}
