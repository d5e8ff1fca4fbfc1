// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "source.h"
#include "clock.h"
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/hpet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define HPET_RATE	2000	/* a whole number of its ticks, wherever these are 10 ns */

struct hpet_registers {
	uint64_t capabilities;	/* bits 32 to 63: femtoseconds of a tick */
	uint64_t unused[29];
	uint64_t counter;
	uint64_t unused_too;
	struct {
		uint64_t config;
		uint64_t comparator;
		uint64_t unused[2];
	} timer[];
};

/* The interrupt of timer N of the HPET is called hpetN. */
static int direct(unsigned int timer, int cpu)
{
	char name[64], where[8];
	glob_t found;

	snprintf(name, sizeof(name), "/proc/irq/*/hpet%u", timer);
	if (glob(name, 0, NULL, &found))
		return -ENOENT;
	snprintf(name, sizeof(name), "/proc/irq/%d/smp_affinity_list",
		 atoi(found.gl_pathv[0] + sizeof("/proc/irq/") - 1));
	globfree(&found);
	snprintf(where, sizeof(where), "%d", cpu);
	return file_write(name, where);
}

int source_open(struct source *source, int cpu)
{
	struct hpet_info info;
	int ret;

	*source = (struct source){ .period_ns = NSEC_PER_SEC / HPET_RATE };
	source->fd = open("/dev/hpet", O_RDONLY | O_CLOEXEC);
	if (source->fd < 0)
		return -errno;
	source->hpet = mmap(NULL, 4096, PROT_READ, MAP_SHARED, source->fd, 0);
	if (source->hpet == MAP_FAILED)
		return -errno;
	if (ioctl(source->fd, HPET_IRQFREQ, HPET_RATE) || ioctl(source->fd, HPET_EPI) ||
	    ioctl(source->fd, HPET_INFO, &info) || ioctl(source->fd, HPET_IE_ON))
		return -errno;
	source->timer = info.hi_timer;
	/* It can be directed elsewhere only where it has come at least once */
	do {
		if (!source_wait(source))
			return -EIO;
		ret = direct(source->timer, cpu);
	} while (ret == -EBUSY);
	/* Nor is the one measured that came meanwhile */
	return !ret && !source_wait(source) ? -EIO : ret;
}

uint32_t source_wait(const struct source *source)
{
	uint64_t count;

	return read(source->fd, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

int64_t source_due_ns(const struct source *source, uint32_t count, int64_t now_ns)
{
	const volatile struct hpet_registers *hpet = source->hpet;
	uint64_t tick_fs = hpet->capabilities >> 32;
	/*
	 * The comparator has when the next is due, in 32 bits, as Linux sets it. Right unless
	 * another came meanwhile.
	 */
	int32_t left = hpet->timer[source->timer].comparator - hpet->counter;

	return now_ns + left * (int64_t)tick_fs / 1000000 - (int64_t)count * source->period_ns;
}
