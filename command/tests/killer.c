// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Preloaded: makes plain directories behave as cgroups do as far as the command needs
 * it, and kills the process before its change number KILL_AT, from 1, by SIGINT if
 * KILL_GENTLY is set. A file below --root is changed when it is opened for writing: the
 * kernel's do not go empty there. A directory with a file "busy" is a cgroup that cannot
 * be removed; a file F is read-only, or cannot be locked, if there is a file F.ro. The partition
 * whose type is in the file ENDS ends when something is written in the group timershield. A task's
 * policy and priority are the last two words of its stat file below ROOT.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>
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

	if (!at || ++changes != strtoul(at, NULL, 10))
		return;
	raise(getenv("KILL_GENTLY") ? SIGINT : SIGKILL);
	raise(SIGQUIT);		/* where Ctrl-C waits, this does as well */
}

/* What the kernel says of its clock is "TICK FREQUENCY OFFSET" in STEERED. */
int adjtimex(struct timex *clock)
{
	const char *steered = getenv("STEERED");

	memset(clock, 0, sizeof(*clock));
	clock->tick = 10000;
	if (steered)
		sscanf(steered, "%ld %ld %ld", &clock->tick, &clock->freq, &clock->offset);
	return 0;
}

/* What an interface's driver says is "US ADAPTIVE" in COALESCE. */
int ioctl(int fd, unsigned long request, ...)
{
	struct ethtool_coalesce *coalesce;
	va_list args;
	void *argument;

	va_start(args, request);
	argument = va_arg(args, void *);
	va_end(args);
	if (request != SIOCETHTOOL || !getenv("COALESCE"))
		return (int)syscall(SYS_ioctl, fd, request, argument);
	coalesce = (void *)((struct ifreq *)argument)->ifr_data;
	sscanf(getenv("COALESCE"), "%u %u", &coalesce->rx_coalesce_usecs,
	       &coalesce->use_adaptive_rx_coalesce);
	return 0;
}

static int plain_open(const char *path, int flags, mode_t mode)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static ssize_t plain_write(int fd, const void *buffer, size_t length)
{
	return syscall(SYS_write, fd, buffer, length);
}

int open(const char *path, int flags, ...)
{
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
	return plain_open(path, flags, mode);
}

static void end_partition(const char *path)
{
	static const char type[] = "root invalid (Cpu list in cpuset.cpus not exclusive)\n";
	static bool ended;
	int fd;

	if (ended || !getenv("ENDS") || !strstr(path, "/timershield/cgroup."))
		return;
	ended = true;
	fd = plain_open(getenv("ENDS"), O_WRONLY | O_TRUNC, 0);
	if (plain_write(fd, type, strlen(type)) < 0)
		abort();
	close(fd);
}

/* "+cpuset" reads back as "cpuset". */
ssize_t write(int fd, const void *buffer, size_t length)
{
	char link[64], path[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	end_partition(path);
	if (!strstr(path, "/cgroup.subtree_control"))
		return plain_write(fd, buffer, length);
	if (*(const char *)buffer == '+')
		plain_write(fd, (const char *)buffer + 1, length - 1);
	else
		plain_write(fd, "\n", 1);
	return (ssize_t)length;
}

int flock(int fd, int operation)
{
	char link[64], path[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - sizeof(".ro"));
	strcpy(path + (n < 0 ? 0 : n), ".ro");
	if (access(path, F_OK))
		return (int)syscall(SYS_flock, fd, operation);
	errno = ENOLCK;
	return -1;
}

int rename(const char *from, const char *to)
{
	count_change();
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlink(const char *path)
{
	count_change();
	return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int mkdir(const char *path, mode_t mode)
{
	char file[4096];
	int ret;

	count_change();
	ret = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
	for (size_t i = 0; !ret && strstr(path, "/cgroup/") && i < NR_FILES; i++) {
		snprintf(file, sizeof(file), "%s/%s", path, files[i]);
		close(plain_open(file, O_WRONLY | O_CREAT, 0644));
	}
	return ret;
}

int rmdir(const char *path)
{
	char file[4096];

	count_change();
	snprintf(file, sizeof(file), "%s/busy", path);
	if (!access(file, F_OK)) {
		errno = EBUSY;
		return -1;
	}
	for (size_t i = 0; i < NR_FILES; i++) {
		snprintf(file, sizeof(file), "%s/%s", path, files[i]);
		syscall(SYS_unlinkat, AT_FDCWD, file, 0);
	}
	return (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}

int sched_setscheduler(pid_t tid, int policy, const struct sched_param *parameter)
{
	char path[4096], text[4096], *end;
	ssize_t length;
	int fd;

	count_change();
	snprintf(path, sizeof(path), "%s/proc/%d/task/%d/stat", getenv("ROOT"), tid, tid);
	fd = plain_open(path, O_RDWR, 0);
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
