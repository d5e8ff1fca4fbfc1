// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The module refuses what it cannot work with: it says why, and leaves nothing behind. Without
 * FTRACE_OPS_FL_PERMANENT it loads where ftrace is off, and masks nothing.
 */
#define _GNU_SOURCE
#include "file.h"
#include "lib/shield.h"
#include "lib/task.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FTRACE_SWITCH "/proc/sys/kernel/ftrace_enabled"
#define LIVEPATCH "/lab/modules/livepatch.ko"
#define LIVEPATCH_STATE "/sys/kernel/livepatch/livepatch"
#define SYSLOG_ACTION_READ_ALL 3
#define SYSLOG_ACTION_CLEAR 5

/* A module as it is on disk. */
static struct image {
	char bytes[1 << 20];
	size_t size;
} image;

static void read_image(const char *path)
{
	FILE *file = fopen(path, "re");

	require(file, "%s: %m", path);
	image.size = fread(image.bytes, 1, sizeof(image.bytes), file);
	fclose(file);
	require(image.size < sizeof(image.bytes), "%s is too large for this test", path);
}

/* 0 or -errno. */
static int load_image(void)
{
	klogctl(SYSLOG_ACTION_CLEAR, NULL, 0);
	return syscall(SYS_init_module, image.bytes, image.size, "") ? -errno : 0;
}

static int load(void)
{
	read_image(SHIELD_MODULE);
	return load_image();
}

static void check_refused(int ret, const char *words)
{
	static char log[1 << 16];
	int length = klogctl(SYSLOG_ACTION_READ_ALL, log, sizeof(log) - 1);

	check(ret, "it was loaded");
	require(length >= 0, "klogctl: %m");
	log[length] = '\0';
	check(strstr(log, words), "the log does not say '%s': %s", words, log);
	check(!shield_present(), SHIELD_SWITCH " is there");
}

TEST(refused_with_ftrace_off)
{
	int ret;

	shield_load(false);
	ret = file_write(FTRACE_SWITCH, "0");
	if (ret == -EOPNOTSUPP) {
		shield_load(true);
		skip("this kernel's ftrace is always on");
	}
	require(!ret, "cannot switch ftrace off: %s", strerror(-ret));
	ret = load();
	file_write(FTRACE_SWITCH, "1");
	check_refused(ret, "kernel.ftrace_enabled");
	shield_load(true);
}

TEST(ftrace_stays_on)
{
	int ret = file_write(FTRACE_SWITCH, "0");

	check(ret, "ftrace can be switched off under the shield");
	file_write(FTRACE_SWITCH, "1");
}

TEST(refused_a_second_time)
{
	int ret = load();

	check(ret == -EEXIST, "loaded twice: %s", strerror(-ret));
	check(shield_get() == 1, "the shield is no longer on");
}

TEST(the_queues_stay)
{
	check(syscall(SYS_delete_module, "timershield_bases", O_NONBLOCK) && errno == EWOULDBLOCK,
	      "timershield-bases was unloaded under the shield");
	shield_load(false);
	check(syscall(SYS_delete_module, "timershield_bases", O_NONBLOCK) && errno == EBUSY,
	      "timershield-bases was unloaded: timers may still point to it");
	check(shield_is_module(), "timershield-bases is gone");
	shield_load(true);
}

/* Returns how often it was there. */
static int replace(const char *text, const char *by)
{
	char *end = image.bytes + image.size, *at = image.bytes;
	size_t length = strlen(text);
	int count = 0;

	while ((at = memmem(at, end - at, text, length))) {
		memcpy(at, by, length);
		count++;
	}
	return count;
}

static void refused_without(const char *name, const char *other, const char *words)
{
	shield_load(false);
	read_image(SHIELD_MODULE);
	require(replace(name, other), SHIELD_MODULE " does not mention %s", name);
	check_refused(load_image(), words);
	shield_load(true);
}

TEST(refused_without_what_it_needs)
{
	refused_without("it_real_fn", "it_ideal_f", "no function it_ideal_f()");
	refused_without("timerfd_poll", "timerfd_pill", "no function timerfd_pill()");
	refused_without("sched_switch", "sched_swatch", "no tracepoint sched_swatch");
}

static void unload_livepatch(void)
{
	u64 end = now() + 60 * SEC;

	file_write(LIVEPATCH_STATE "/enabled", "0");
	while (!access(LIVEPATCH_STATE, F_OK)) {
		require(now() < end, "the livepatch does not go");
		sleep_for(10 * MSEC);
	}
	require(!syscall(SYS_delete_module, "livepatch", 0), "livepatch: %m");
}

TEST(refused_beside_a_livepatch)
{
	int ret;

	if (access(LIVEPATCH, R_OK))
		skip("this kernel has no livepatches");
	shield_load(false);
	read_image(LIVEPATCH);
	ret = load_image();
	require(!ret, "livepatch: %s", strerror(-ret));
	check_refused(load(), "hrtimer_start_range_ns() is replaced already");
	unload_livepatch();
	shield_load(true);
	read_image(LIVEPATCH);
	ret = load_image();
	check(ret == -EBUSY, "a livepatch of the same function: %s", strerror(-ret));
	check(shield_get() == 1, "the shield is no longer on");
}
