// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Preloaded: makes plain directories behave as cgroups do as far as the command needs
 * it, and kills the process before its change number KILL_AT, from 1, by SIGINT if
 * KILL_GENTLY is set. A file below --root is changed when it is opened for writing: the
 * kernel's do not go empty there. A directory with a file "busy" is a cgroup that cannot
 * be removed; a file F is read-only if there is a file F.ro. The partition whose type is in the
 * file ENDS ends when something is written in the group timershield. A task's policy and priority
 * are the last two words of its stat file below ROOT.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char * const files[] = {
	"cgroup.subtree_control", "cgroup.procs", "cpuset.cpus", "cpuset.cpus.partition",
	"cpuset.cpus.effective",
};

#define NR_FILES (sizeof(files) / sizeof(files[0]))

static void count_change(void)
{
	static unsigned int changes;
	const char *at = getenv("KILL_AT");

	if (at && ++changes == strtoul(at, NULL, 10))
		raise(getenv("KILL_GENTLY") ? SIGINT : SIGKILL);
}

int open(const char *path, int flags, ...)
{
	int (*real)(const char *path, int flags, ...) = dlsym(RTLD_NEXT, "open");
	char read_only[4096];
	mode_t mode = 0;
	va_list args;

	va_start(args, flags);
	if (flags & O_CREAT)
		mode = va_arg(args, mode_t);
	va_end(args);
	if (flags & (O_CREAT | O_TRUNC))
		count_change();
	snprintf(read_only, sizeof(read_only), "%s.ro", path);
	if (flags & O_WRONLY && !access(read_only, F_OK)) {
		errno = EROFS;
		return -1;
	}
	return real(path, flags, mode);
}

static void end_partition(const char *path)
{
	static const char type[] = "root invalid (Cpu list in cpuset.cpus not exclusive)\n";
	int (*plain)(const char *path, int flags, ...) = dlsym(RTLD_NEXT, "open");
	ssize_t (*real)(int fd, const void *buffer, size_t length) = dlsym(RTLD_NEXT, "write");
	static bool ended;
	int fd;

	if (ended || !getenv("ENDS") || !strstr(path, "/timershield/cgroup."))
		return;
	ended = true;
	fd = plain(getenv("ENDS"), O_WRONLY | O_TRUNC);
	if (real(fd, type, strlen(type)) < 0)
		abort();
	close(fd);
}

/* "+cpuset" reads back as "cpuset". */
ssize_t write(int fd, const void *buffer, size_t length)
{
	ssize_t (*real)(int fd, const void *buffer, size_t length) = dlsym(RTLD_NEXT, "write");
	char link[64], path[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	end_partition(path);
	if (!strstr(path, "/cgroup.subtree_control"))
		return real(fd, buffer, length);
	if (*(const char *)buffer == '+')
		real(fd, (const char *)buffer + 1, length - 1);
	else
		real(fd, "\n", 1);
	return (ssize_t)length;
}

int rename(const char *from, const char *to)
{
	int (*real)(const char *from, const char *to) = dlsym(RTLD_NEXT, "rename");

	count_change();
	return real(from, to);
}

int unlink(const char *path)
{
	int (*real)(const char *path) = dlsym(RTLD_NEXT, "unlink");

	count_change();
	return real(path);
}

int mkdir(const char *path, mode_t mode)
{
	int (*real)(const char *path, mode_t mode) = dlsym(RTLD_NEXT, "mkdir");
	int (*create)(const char *path, int flags, ...) = dlsym(RTLD_NEXT, "open");
	char file[4096];
	int ret;

	count_change();
	ret = real(path, mode);
	for (size_t i = 0; !ret && strstr(path, "/cgroup/") && i < NR_FILES; i++) {
		snprintf(file, sizeof(file), "%s/%s", path, files[i]);
		close(create(file, O_WRONLY | O_CREAT, 0644));
	}
	return ret;
}

int rmdir(const char *path)
{
	int (*real)(const char *path) = dlsym(RTLD_NEXT, "rmdir");
	int (*gone)(const char *path) = dlsym(RTLD_NEXT, "unlink");
	char file[4096];

	count_change();
	snprintf(file, sizeof(file), "%s/busy", path);
	if (!access(file, F_OK)) {
		errno = EBUSY;
		return -1;
	}
	for (size_t i = 0; i < NR_FILES; i++) {
		snprintf(file, sizeof(file), "%s/%s", path, files[i]);
		gone(file);
	}
	return real(path);
}

int sched_setscheduler(pid_t tid, int policy, const struct sched_param *parameter)
{
	int (*plain)(const char *path, int flags, ...) = dlsym(RTLD_NEXT, "open");
	char path[4096], text[4096], *end;
	ssize_t length;
	int fd;

	count_change();
	snprintf(path, sizeof(path), "%s/proc/%d/task/%d/stat", getenv("ROOT"), tid, tid);
	fd = plain(path, O_RDWR);
	length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 32);
	if (length < 0)
		return -1;
	text[length] = '\0';
	for (int words = 0; words < 2 && (end = strrchr(text, ' ')); words++)
		*end = '\0';
	length = (ssize_t)strlen(text);
	length += sprintf(text + length, " %d %d\n", parameter->sched_priority, policy);
	if (ftruncate(fd, 0) || pwrite(fd, text, (size_t)length, 0) != length)
		abort();
	return close(fd);
}
