// SPDX-License-Identifier: GPL-2.0-or-later
#include "file.h"
#include "journal.h"
#include "lock.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LOCK_NAME "timershield"

static int make_directory(void)
{
	char *path = file_path(RUN_DIRECTORY);
	int ret = mkdir(path, 0755) && errno != EEXIST ? -errno : 0;

	free(path);
	return ret;
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

/* Until who holds the name has closed its socket: nobody ever accepts the connection. */
static int wait_for_holder(const struct sockaddr_un *name, socklen_t length)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct ucred holder;
	socklen_t size = sizeof(holder);
	int ret = 0;
	char byte;

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)name, length)) {
		ret = errno == ECONNREFUSED || errno == EAGAIN ? 0 : -errno;
	} else if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &holder, &size) && holder.uid) {
		ret = failed(-EBUSY, "process %d of user %u holds the lock", holder.pid,
			     holder.uid);
	} else {
		while (read(fd, &byte, 1) < 0 && errno == EINTR)
			;
	}
	close(fd);
	return ret;
}

/*
 * For kernels without CONFIG_FILE_LOCKING: a name that the kernel gives to one socket
 * at a time, and takes back when its process ends.
 */
static int lock_name(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	socklen_t length = offsetof(struct sockaddr_un, sun_path) + 1 + strlen(LOCK_NAME);
	int fd, ret;

	memcpy(name.sun_path + 1, LOCK_NAME, strlen(LOCK_NAME));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	while (bind(fd, (struct sockaddr *)&name, length)) {
		ret = errno == EADDRINUSE ? wait_for_holder(&name, length) : -errno;
		if (ret)
			goto close;
	}
	ret = listen(fd, SOMAXCONN) ? -errno : 0;
close:
	if (ret)
		close(fd);
	return ret ? ret : fd;
}

int lock_take(void)
{
	char *path = file_path(RUN_DIRECTORY "/lock");
	int ret = make_directory(), fd;

	if (!ret) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		ret = fd < 0 ? -errno : lock_file(fd);
		if (fd >= 0 && ret < 0)
			close(fd);
		if (ret == -ENOSYS)
			ret = lock_name();
	}
	if (ret < 0)
		failed(ret, "%s: %s%s", path, strerror(-ret),
		       ret == -EACCES ? " (run as root)" : "");
	free(path);
	return ret;
}
