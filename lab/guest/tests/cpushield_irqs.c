// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Interrupts that leave shielded CPUs, keep away and come back. Three CPUs; the
 * interrupt is a serial port's, which is raised by bytes that the port sends to
itself.
 *
 * With irq_do_set_affinity() left as it is, moves_at_once and
 * stays_away_when_asked_later fail.
 */
#define _GNU_SOURCE
#include "lib/cpushield.h"
#include "file.h"
#include "lib/task.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define ALL (CPU(0) | CPU(1) | CPU(2))
#define PORT "/dev/ttyS0"
/* Hidden by the C library; <linux/termios.h> has it, and clashes with <termios.h>. */
#ifndef TIOCM_LOOP
#define TIOCM_LOOP 0x8000
#endif

static int port, irq;

/* The number of the interrupt with this name in /proc/interrupts, or -ENOENT. */
static int find_interrupt(const char *name)
{
	static char text[1 << 16];
	char *line, *rest;

	require(file_read("/proc/interrupts", text, sizeof(text)) > 0, "/proc/interrupts");
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		const char *last = strrchr(line, ' ');

		if (last && !strcmp(last + 1, name))
			return atoi(line);
	}
	return -ENOENT;
}

/* How often it has come on each CPU, offline ones included. */
static void interrupt_counts(u64 counts[3])
{
	char path[64], text[256], *at = text;

	snprintf(path, sizeof(path), "/sys/kernel/irq/%d/per_cpu_count", irq);
	require(file_read(path, text, sizeof(text)) > 0, "%s", path);
	for (int cpu = 0; cpu < 3; cpu++, at++)
		counts[cpu] = strtoull(at, &at, 10);
}

/* Where it came for some bytes. */
static cpus_t raised_on(void)
{
	u64 before[3], after[3];
	cpus_t cpus = 0;

	interrupt_counts(before);
	require(write(port, "shielded", 8) == 8, PORT ": %s", strerror(errno));
	sleep_for(20 * MSEC);
	tcflush(port, TCIFLUSH);
	interrupt_counts(after);
	for (int cpu = 0; cpu < 3; cpu++)
		if (before[cpu] != after[cpu])
			cpus |= CPU(cpu);
	require(cpus, PORT " raises no interrupts");
	return cpus;
}

static const char *irq_file(const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "/proc/irq/%d/%s", irq, name);
	return path;
}

static cpus_t irq_cpus(const char *name)
{
	char text[64];

	require(file_read(irq_file(name), text, sizeof(text)) > 0, "%s", irq_file(name));
	return cpus_parse(text);
}

static int try_direct(cpus_t cpus)
{
	return file_write(irq_file("smp_affinity_list"), cpus_text(cpus));
}

/* Sets its affinity, and lets it be raised, for it moves when it is handled. */
static void direct(cpus_t cpus)
{
	int ret = try_direct(cpus);

	require(!ret, "%s: %s", irq_file("smp_affinity_list"), strerror(-ret));
	raised_on();
}

static void expect_on(cpus_t cpus, const char *when)
{
	cpus_t effective, on = raised_on();

	effective = irq_cpus("effective_affinity_list");
	check(!(on & ~cpus), "%s: raised on '%s', not on '%s'", when, cpus_text(on),
	      cpus_text(cpus));
	check(!(effective & ~cpus), "%s: effective_affinity is '%s'", when, cpus_text(effective));
}

/* Opens the port, whose output comes back as input and does not leave it. */
static void open_port(void)
{
	struct termios settings;
	int loop = TIOCM_LOOP;

	port = open(PORT, O_RDWR | O_NOCTTY | O_NONBLOCK);
	if (port < 0)
		skip(PORT ": %s", strerror(errno));
	require(!tcgetattr(port, &settings), PORT ": %s", strerror(errno));
	cfmakeraw(&settings);
	require(!tcsetattr(port, TCSANOW, &settings) && !ioctl(port, TIOCMBIS, &loop), PORT ": %s",
		strerror(errno));
	irq = find_interrupt("ttyS0");
	if (irq < 0)
		skip(PORT " has no interrupt");
}

static void prepare(void)
{
	cpushield_prepare(3);
	require(cpus_online() == ALL, "these tests are for exactly three CPUs");
	open_port();
	direct(ALL);
}

static void moves_at_once(void)
{
	prepare();
	direct(CPU(1));
	direct(CPU(1) | CPU(2));
	require(raised_on() == CPU(1), "it was moved without need");
	shield_cpus(IRQS, CPU(1));
	raised_on();
	expect_on(CPU(2), "directed to 1 and 2, 1 is shielded");
	check(irq_cpus("smp_affinity_list") == (CPU(1) | CPU(2)), "smp_affinity is '%s'",
	      cpus_text(irq_cpus("smp_affinity_list")));
	check(!report_line("irq", irq), "the report has it: %s", report_line("irq", irq));
	shield_cpus(IRQS, CPU(2));
	raised_on();
	expect_on(CPU(1), "directed to 1 and 2, 2 is shielded");
	shield_cpus(IRQS, 0);
	check(irq_cpus("smp_affinity_list") == (CPU(1) | CPU(2)), "no shield, smp_affinity is '%s'",
	      cpus_text(irq_cpus("smp_affinity_list")));
	direct(CPU(2));
	expect_on(CPU(2), "no shield any more");
}

static void stays_away_when_asked_later(void)
{
	prepare();
	shield_cpus(IRQS, CPU(1));
	for (cpus_t cpus = 1; cpus <= ALL; cpus++) {
		direct(cpus);
		expect_on(cpus & ~CPU(1) ?: cpus, cpus_text(cpus));
		check(irq_cpus("smp_affinity_list") == cpus, "'%s' gives '%s'", cpus_text(cpus),
		      cpus_text(irq_cpus("smp_affinity_list")));
	}
}

/* Directed to shielded CPUs alone: that is whom the shield is for. */
static void directed_alone(void)
{
	const char *line;

	prepare();
	direct(CPU(1));
	shield_cpus(IRQS, CPU(1));
	expect_on(CPU(1), "directed to 1 alone");
	line = report_line("irq", irq);
	check(line && strstr(line, "\t1\tttyS0\taffinity set to shielded CPUs alone"),
	      "in the report: %s", line ? line : "(nothing)");
	shield_cpus(IRQS, CPU(0) | CPU(1));
	expect_on(CPU(1), "directed to 1 alone");
	direct(CPU(0) | CPU(1));
	expect_on(CPU(0) | CPU(1), "directed to shielded CPUs alone");
}

/* Every affinity file is byte for byte what it was. */
static void restored(void)
{
	static char before[256][64];
	char path[64], text[64];

	prepare();
	for (int i = 0; i < 256; i++) {
		snprintf(path, sizeof(path), "/proc/irq/%d/smp_affinity", i);
		if (file_read(path, before[i], sizeof(before[i])) < 0)
			before[i][0] = 0;
	}
	for (cpus_t cpus = 1; cpus < ALL; cpus++) {
		shield_cpus(IRQS, cpus);
		raised_on();
	}
	shield_cpus(IRQS, 0);
	for (int i = 0; i < 256; i++) {
		snprintf(path, sizeof(path), "/proc/irq/%d/smp_affinity", i);
		if (file_read(path, text, sizeof(text)) < 0)
			text[0] = 0;
		check(!strcmp(text, before[i]), "%s was '%s', is '%s'", path, before[i], text);
	}
}

/* Its last unshielded CPU goes and comes back. */
static void last_unshielded_cpu(void)
{
	prepare();
	shield_cpus(IRQS, CPU(0) | CPU(1));
	raised_on();
	expect_on(CPU(2), "two of three CPUs are shielded");
	require(!cpu_set_online(2, false), "CPU 2 does not go offline");
	raised_on();
	expect_on(CPU(0) | CPU(1), "no unshielded CPU is online");
	check(report_line("irq", irq), "it is not in the report");
	require(!cpu_set_online(2, true), "CPU 2 does not come back");
	raised_on();
	expect_on(CPU(2), "the unshielded CPU has come back");
	check(irq_cpus("smp_affinity_list") == ALL, "smp_affinity is '%s'",
	      cpus_text(irq_cpus("smp_affinity_list")));
}

static void shielded_cpu_comes_back(void)
{
	prepare();
	direct(CPU(1) | CPU(2));
	shield_cpus(IRQS, CPU(1));
	raised_on();
	for (int round = 0; round < 5; round++) {
		require(!cpu_set_online(1, false), "CPU 1 does not go offline");
		expect_on(CPU(2), "the shielded CPU is offline");
		check(shielded(IRQS) == CPU(1), "the shield is '%s'", cpus_text(shielded(IRQS)));
		require(!cpu_set_online(1, true), "CPU 1 does not come back");
		expect_on(CPU(2), "the shielded CPU has come back");
	}
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST(moves_at_once),
		TEST(stays_away_when_asked_later),
		TEST(directed_alone),
		TEST(restored),
		TEST(last_unshielded_cpu),
		TEST(shielded_cpu_comes_back),
	};
	int ret = run_tests(argc, argv, tests, ARRAY_SIZE(tests), TESTS_KEEP_SWITCH);

	file_write(IRQS, "\n");
	return ret;
}
