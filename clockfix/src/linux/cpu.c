// SPDX-License-Identifier: LGPL-2.1-or-later
/* cpu.c - what this CPU can do */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cpu.h"

/* The kernel checks counters against each other and other clocks for as long as it uses them. */
static bool kernel_trusts(const char *name)
{
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	char buf[64];
	ssize_t len;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (len <= 0)
		return false;
	buf[len] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return !strcmp(buf, name);
}

#if defined(__x86_64__)
#include <cpuid.h>

bool cpu_counter_sound(void)
{
	unsigned int eax, ebx, ecx, edx;

	if (!__get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) || !(edx & (1u << 8)))
		return false;
	return kernel_trusts("tsc");
}

bool cpu_low_power(void)
{
	unsigned int eax, ebx, ecx, edx;

	return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ecx & (1u << 5));
}

void cpu_low_power_wait(const void *word, uint32_t val, uint64_t counter)
{
	uint32_t lo = counter, hi = counter >> 32;

	/* umonitor: F3 0F AE /6; umwait: F2 0F AE /6; ecx 1: C0.1, the state quick to leave */
	__asm__ volatile(".byte 0xf3, 0x0f, 0xae, 0xf0" /* umonitor %rax */
			 :: "a"(word) : "memory");
	if (__atomic_load_n((const uint32_t *)word, __ATOMIC_SEQ_CST) != val)
		return;
	__asm__ volatile(".byte 0xf2, 0x0f, 0xae, 0xf1" /* umwait %ecx */
			 :: "c"(1), "a"(lo), "d"(hi) : "memory", "cc");
}

#elif defined(__aarch64__)
#include <sys/auxv.h>

#ifndef HWCAP2_WFXT
#define HWCAP2_WFXT (1UL << 31)
#endif

bool cpu_counter_sound(void)
{
	/* Where an erratum makes it unsound the kernel traps the read and the clock differs. */
	return kernel_trusts("arch_sys_counter");
}

bool cpu_low_power(void)
{
	return getauxval(AT_HWCAP2) & HWCAP2_WFXT;
}

void cpu_low_power_wait(const void *word, uint32_t val, uint64_t counter)
{
	uint32_t seen;

	/* The exclusive load arms the monitor: a write to @word is an event and ends the wait. */
	__asm__ volatile("ldaxr %w0, [%1]" : "=r"(seen) : "r"(word) : "memory");
	if (seen != val)
		return;
	/* wfet x0 */
	register uint64_t until __asm__("x0") = counter;

	__asm__ volatile(".inst 0xd5031000" :: "r"(until) : "memory");
}
#endif
