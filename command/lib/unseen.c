// SPDX-License-Identifier: GPL-2.0-or-later
#include "unseen.h"
#include "file.h"
#include "machine.h"

#include <fcntl.h>

#define MSR_SMI_COUNT 0x34

int unseen_smis(unsigned int cpu, unsigned long long *count)
{
	autofree char *path = format("/dev/cpu/%u/msr", cpu), *full = file_path(path);
	int fd, ret;

	if (machine_is_virtual() || !file_has("/proc/cpuinfo", "GenuineIntel"))
		return -EOPNOTSUPP;
	fd = open(full, O_RDONLY | O_CLOEXEC);
	ret = fd < 0 ? -errno : 0;
	if (!ret && pread(fd, count, sizeof(*count), MSR_SMI_COUNT) != sizeof(*count))
		ret = -EIO;
	if (fd >= 0)
		close(fd);
	*count &= 0xffffffff;
	return ret;
}

const char *unseen_counters(const char *interrupts, const char *name)
{
	const size_t length = strlen(name);

	for (const char *line = interrupts; line; line = strchr(line, '\n')) {
		line += strspn(line, "\n ");
		if (!strncmp(line, name, length) && line[length] == ':')
			return line + length + 1;
	}
	return "";
}

unsigned long long unseen_nmis(void)
{
	autotext struct text text = { 0 };
	unsigned long long sum = 0, count;
	char *end;

	file_read("/proc/interrupts", &text);
	for (const char *at = unseen_counters(text.s, "NMI");
	     count = strtoull(at, &end, 10), end != at; at = end)
		sum += count;
	return sum;
}

uint64_t *unseen_steal(unsigned int count)
{
	uint64_t *steal = zeroed(count, sizeof(*steal));
	uint64_t tick = 1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK);
	autotext struct text stat = { 0 };

	file_read("/proc/stat", &stat);
	for (const char *s = strstr(stat.s, "\ncpu"); s; s = strstr(s + 1, "\ncpu")) {
		unsigned long long ticks = 0;
		unsigned int cpu;

		if (sscanf(s + 4, "%u %*u %*u %*u %*u %*u %*u %*u %llu", &cpu, &ticks) == 2 &&
		    cpu < count)
			steal[cpu] = ticks * tick;
	}
	return steal;
}
