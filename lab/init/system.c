// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "system.h"
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct mount_point {
	const char *type;
	const char *path;
	int needed;
};

static const struct mount_point mounts[] = {
	{ "proc", "/proc", 1 },
	{ "sysfs", "/sys", 1 },
	{ "devtmpfs", "/dev", 1 },
	{ "tmpfs", "/dev/shm", 0 },
	{ "mqueue", "/dev/mqueue", 0 },
	{ "tmpfs", "/tmp", 1 },
	{ "tmpfs", "/run", 0 },
	{ "debugfs", "/sys/kernel/debug", 0 },
	{ "tracefs", "/sys/kernel/tracing", 0 },
	{ "cgroup2", "/sys/fs/cgroup", 0 },
};

static void die(const char *what)
{
	fprintf(stderr, "init: %s: %m\n", what);
	exit(1);
}

void system_mount(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		const struct mount_point *m = &mounts[i];

		mkdir(m->path, 0755);
		if (mount(m->type, m->path, m->type, 0, NULL) && m->needed &&
		    errno != EBUSY)
			die(m->path);
	}
	chmod("/tmp", 01777);
	chmod("/dev/shm", 01777);
}

static void loopback_up(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	request.ifr_flags = IFF_UP | IFF_RUNNING;
	if (ioctl(fd, SIOCSIFFLAGS, &request))
		fprintf(stderr, "init: lo: %m\n");
	close(fd);
}

static void lift(int resource, rlim_t limit)
{
	struct rlimit both = { limit, limit };

	if (setrlimit(resource, &both))
		fprintf(stderr, "init: setrlimit(%d): %m\n", resource);
}

/* A serial port that is about to suspend itself has a timer, a critical one. */
static void keep_serial_ports_awake(void)
{
	glob_t found;

	if (glob("/sys/bus/serial-base/devices/*/power/control", 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		system_write(found.gl_pathv[i], "on");
	globfree(&found);
}

/* One without a clock of its own begins at zero, which the clock cannot be set before. */
static void leave_zero(void)
{
	const struct timespec day = { .tv_sec = 24 * 3600 };
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	if (time.tv_sec < day.tv_sec)
		clock_settime(CLOCK_REALTIME, &day);
}

void system_prepare(void)
{
	leave_zero();
	keep_serial_ports_awake();
	loopback_up();
	lift(RLIMIT_NOFILE, 65536);
	lift(RLIMIT_SIGPENDING, 65536);
	lift(RLIMIT_MEMLOCK, RLIM_INFINITY);
	lift(RLIMIT_CORE, 0);
	system_write("/proc/sys/kernel/sched_rt_runtime_us", "-1");
}

int system_open_port(void)
{
	const char *path = getenv("lab_port");
	struct termios mode;
	glob_t found;
	int fd;

	if (!path && !glob("/dev/vport*p1", 0, NULL, &found))
		path = found.gl_pathv[0];
	fd = open(path ? path : "", O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && !tcgetattr(fd, &mode)) {
		cfmakeraw(&mode);
		cfsetspeed(&mode, B115200);
		tcsetattr(fd, TCSANOW, &mode);
	}
	return fd;
}

int system_write(const char *path, const char *value)
{
	char line[256];

	snprintf(line, sizeof(line), "%s\n", value);
	return file_write(path, line);
}

void system_restart(void)
{
	sync();
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}
