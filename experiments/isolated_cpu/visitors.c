// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which tasks the measured CPU switched to, which interrupts of devices came there, and how often
 * it processed packets: the kernel counts, by histograms of its trace events, and their text is
 * what is left (NAME.hist). Kernels without histograms leave none.
 */
#define _GNU_SOURCE
#include "isolated.h"
#include "file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define EVENTS "/sys/kernel/tracing/events/"

static const struct {
	const char *event, *trigger, *file;
} counted[] = {
	{ EVENTS "sched/sched_switch/", "hist:keys=next_pid,next_comm:size=4096 if common_cpu == 0",
	  "task.hist" },
	{ EVENTS "irq/irq_handler_entry/", "hist:keys=irq,name if common_cpu == 0", "irq.hist" },
	{ EVENTS "irq/softirq_entry/", "hist:keys=vec if common_cpu == 0 && vec == 3",
	  "softirq.hist" },
};

int count_start(void)
{
	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
		char path[128];
		int ret;

		snprintf(path, sizeof(path), "%strigger", counted[i].event);
		ret = file_write(path, counted[i].trigger);
		if (ret == -EINVAL)
			return 0;
		if (ret) {
			fprintf(stderr, "isolated_cpu: %s: %s\n", path, strerror(-ret));
			return ret;
		}
	}
	return 0;
}

int count_write(void)
{
	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
		char path[128], line[512];
		FILE *from, *to;

		snprintf(path, sizeof(path), "%shist", counted[i].event);
		from = fopen(path, "re");
		if (!from)
			return errno == ENOENT ? 0 : -errno;
		to = fopen(counted[i].file, "we");
		while (to && fgets(line, sizeof(line), from))
			fputs(line, to);
		fclose(from);
		if (!to || fclose(to))
			return -EIO;
		snprintf(path, sizeof(path), "%strigger", counted[i].event);
		snprintf(line, sizeof(line), "!%s", counted[i].trigger);
		file_write(path, line);
	}
	return 0;
}
