// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What may be written to /proc/shield/procs and irqs, by whom, what comes of it,
 * and that no error changes anything. Three CPUs.
 */
#define _GNU_SOURCE
#include "lib/cpushield.h"
#include "file.h"
#include "lib/task.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALL (CPU(0) | CPU(1) | CPU(2))
#define BEFORE CPU(2)

struct input {
	const char *text;
	int ret;
	cpus_t cpus;
};

static const struct input inputs[] = {
	{ "1", 0, CPU(1) },
	{ "1\n", 0, CPU(1) },
	{ " 1 \n", 0, CPU(1) },
	{ "1-2\n", 0, CPU(1) | CPU(2) },
	{ "0,2", 0, CPU(0) | CPU(2) },
	{ "1,1-2,2", 0, CPU(1) | CPU(2) },
	{ "0x2", 0, CPU(1) },
	{ "0X6\n", 0, CPU(1) | CPU(2) },
	{ "0x0,00000004", 0, CPU(2) },
	{ "0x00000000000000000001", 0, CPU(0) },
	{ "\n", 0, 0 },
	{ "none", 0, 0 },
	{ "none\n", 0, 0 },
	{ "0x0\n", 0, 0 },
	{ "0x0,00000000", 0, 0 },
	/* Garbage */
	{ "x", -EINVAL, 0 },
	{ "1x", -EINVAL, 0 },
	{ "2a", -EINVAL, 0 },
	{ "1-", -EINVAL, 0 },
	{ "-1", -EINVAL, 0 },
	{ "2-1", -EINVAL, 0 },
	{ "1--2", -EINVAL, 0 },
	{ ",", -EINVAL, 0 },
	{ "0x", -EINVAL, 0 },
	{ "0x\n", -EINVAL, 0 },
	{ "0xg", -EINVAL, 0 },
	{ "0x-1", -EINVAL, 0 },
	{ "0x1 2", -EINVAL, 0 },
	{ "1\n2", -EINVAL, 0 },
	{ "none1", -EINVAL, 0 },
	{ "None of your business", -EINVAL, 0 },
	/* Beyond what the kernel was built or booted for */
	{ "100000", -ERANGE, 0 },
	{ "0-100000", -ERANGE, 0 },
	{ "99999999999999999999", -ERANGE, 0 },
	{ "0x100000000", -ERANGE, 0 },
	{ "0x1,00000000", -ERANGE, 0 },
	/* Nothing would be left */
	{ "0-2", -EBUSY, 0 },
	{ "0x7", -EBUSY, 0 },
	{ "all", -EBUSY, 0 },
};

static const char *const files[] = { PROCS, IRQS };

static void prepare(void)
{
	cpushield_prepare(3);
	require(cpus_online() == ALL, "these tests are for exactly three CPUs");
}

static void for_each_file(void (*function)(const char *file))
{
	prepare();
	for (unsigned int i = 0; i < ARRAY_SIZE(files); i++) {
		shield_cpus(files[i], BEFORE);
		function(files[i]);
		shield_cpus(files[i], 0);
	}
}

static void expect_write(const char *file, const char *text, int expected, cpus_t after)
{
	int ret = file_write(file, text);

	check(ret == expected, "%s: '%.40s' gives %s, not %s", file, text, strerror(-ret),
	      strerror(-expected));
	check(shielded(file) == after, "%s after '%.40s': '%s', not '%s'", file, text,
	      cpus_text(shielded(file)), cpus_text(after));
}

static void try_inputs(const char *file)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(inputs); i++) {
		const struct input *input = &inputs[i];

		shield_cpus(file, BEFORE);
		expect_write(file, input->text, input->ret, input->ret ? BEFORE : input->cpus);
	}
}

static void lists_and_masks(void)
{
	for_each_file(try_inputs);
}

static void try_formats(const char *file)
{
	char text[64];
	struct stat status;

	shield_cpus(file, CPU(0) | CPU(1));
	require(file_read(file, text, sizeof(text)) >= 0, "%s", file);
	check(!strcmp(text, "0-1\n"), "%s gives '%s'", file, text);
	shield_cpus(file, 0);
	require(file_read(file, text, sizeof(text)) >= 0, "%s", file);
	check(!strcmp(text, "\n"), "%s gives '%s'", file, text);
	require(!stat(file, &status), "%s", file);
	check((status.st_mode & 0777) == 0644, "%s has mode %o", file, status.st_mode & 0777);
}

static void what_is_read(void)
{
	struct stat status;

	for_each_file(try_formats);
	require(!stat(REPORT, &status), REPORT);
	check((status.st_mode & 0777) == 0444, REPORT " has mode %o", status.st_mode & 0777);
}

static int write_at(const char *file, const void *data, size_t size, off_t offset)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC), ret;

	require(fd >= 0, "%s: %s", file, strerror(errno));
	require(lseek(fd, offset, SEEK_SET) == offset, "%s: %s", file, strerror(errno));
	ret = write(fd, data, size) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

/* NUL bytes, a write in pieces, one that is far too long, an empty one. */
static void try_odd_writes(const char *file)
{
	size_t size = 600000, n = 0;
	char *list = malloc(size);

	require(list, "malloc");
	for (unsigned int cpu = 0; cpu < 100000; cpu++)
		n += snprintf(list + n, size - n, "%u,", cpu);
	check(write_at(file, list, n, 0) == -EINVAL, "%s: a list of 100000 CPUs", file);
	free(list);
	check(write_at(file, "1\0", 2, 0) == -EINVAL, "%s: a NUL at the end", file);
	check(write_at(file, "1\0,0", 4, 0) == -EINVAL, "%s: a NUL within", file);
	check(write_at(file, "\0", 1, 0) == -EINVAL, "%s: a NUL alone", file);
	check(write_at(file, "1", 1, 1) == -EINVAL, "%s: at an offset", file);
	check(!write_at(file, "", 0, 0), "%s: nothing", file);
	check(shielded(file) == BEFORE, "%s after that: '%s'", file, cpus_text(shielded(file)));
}

static void odd_writes(void)
{
	for_each_file(try_odd_writes);
}

static void try_offline(const char *file)
{
	cpus_t last = 0;
	char text[32];

	shield_cpus(file, CPU(1));
	require(!cpu_set_online(2, false), "CPU 2 does not go offline");
	expect_write(file, "2", -ENODEV, CPU(1));
	expect_write(file, "1-2", -ENODEV, CPU(1));
	expect_write(file, "0x6", -ENODEV, CPU(1));
	expect_write(file, "0-1", -EBUSY, CPU(1));
	expect_write(file, "0", 0, CPU(0));
	require(!cpu_set_online(2, true), "CPU 2 does not come back");
	require(file_read("/sys/devices/system/cpu/possible", text, sizeof(text)) > 0, "possible");
	last = cpus_parse(text);
	snprintf(text, sizeof(text), "%d", 64 - __builtin_clzll(last));
	expect_write(file, text, -ERANGE, CPU(0));
}

static void offline_cpus(void)
{
	for_each_file(try_offline);
}

static void drop_nice(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	require(!syscall(SYS_capget, &header, data), "capget: %s", strerror(errno));
	data[CAP_SYS_NICE / 32].effective &= ~(1u << CAP_SYS_NICE % 32);
	require(!syscall(SYS_capset, &header, data), "capset: %s", strerror(errno));
}

static void try_unprivileged(const char *file)
{
	pid_t pid = fork();

	if (!pid) {
		drop_nice();
		expect_write(file, "1", -EPERM, BEFORE);
		expect_write(file, "\n", -EPERM, BEFORE);
		expect_write(file, "garbage", -EPERM, BEFORE);
		become_unprivileged();
		expect_write(file, "1", -EACCES, BEFORE);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	pid = fork();
	if (!pid) {
		int fd = open(file, O_WRONLY);

		require(fd >= 0, "%s: %s", file, strerror(errno));
		/* Root of a user namespace of its own, with a file that was opened before */
		if (syscall(SYS_unshare, 0x10000000 /* CLONE_NEWUSER */))
			_exit(0);
		check(write(fd, "1", 1) < 0 && errno == EPERM, "%s: from a user namespace", file);
		check(shielded(file) == BEFORE, "%s was changed", file);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void without_privilege(void)
{
	for_each_file(try_unprivileged);
}

/* Bytes that mean little: an error and no change, or a shield that leaves a CPU. */
static void try_noise(const char *file)
{
	static const char bytes[] = "0123456789,,,---xX \n\tabcfnoe:/\0\377";
	unsigned int accepted = 0, seed = 1;

	for (unsigned int round = 0; round < 5000; round++) {
		char text[24];
		size_t length = 1 + rand_r(&seed) % sizeof(text);
		cpus_t before = shielded(file), after;
		int ret;

		for (size_t i = 0; i < length; i++)
			text[i] = bytes[rand_r(&seed) % sizeof(bytes)];
		ret = write_at(file, text, length, 0);
		after = shielded(file);
		accepted += !ret;
		check(!ret || after == before, "%s changed with %s", file, strerror(-ret));
		check((after & ALL) == after && after != ALL, "%s: '%s'", file, cpus_text(after));
		check(!ret || ret == -EINVAL || ret == -ERANGE || ret == -EBUSY || ret == -ENODEV,
		      "%s: %s", file, strerror(-ret));
	}
	check(accepted > 50, "only %u of 5000 writes were accepted", accepted);
}

static void noise(void)
{
	for_each_file(try_noise);
}

/* Many writers: what stands in the end is what one of them wrote, and applies. */
static void many_writers(void)
{
	pid_t waiter, pids[4];
	cpus_t cpus;

	prepare();
	waiter = start_waiter();
	for (int i = 0; i < 4; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		for (int round = 0; round < 200; round++)
			shield_cpus(i % 2 ? PROCS : IRQS, 1 + (round + i) % 6);
		_exit(0);
	}
	for (int i = 0; i < 4; i++)
		waitpid(pids[i], NULL, 0);
	cpus = shielded(PROCS);
	check(cpus && cpus < ALL, "in the end: '%s'", cpus_text(cpus));
	expect_affinity(waiter, ALL & ~cpus, "in the end");
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST(lists_and_masks),
		TEST(what_is_read),
		TEST(odd_writes),
		TEST(offline_cpus),
		TEST(without_privilege),
		TEST(noise),
		TEST(many_writers),
	};
	int ret = run_tests(argc, argv, tests, ARRAY_SIZE(tests), TESTS_KEEP_SWITCH);

	file_write(PROCS, "\n");
	file_write(IRQS, "\n");
	return ret;
}
