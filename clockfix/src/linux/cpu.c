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

#elif defined(__aarch64__)

bool cpu_counter_sound(void)
{
	/* Where an erratum makes it unsound the kernel traps the read and the clock differs. */
	return kernel_trusts("arch_sys_counter");
}
#endif
