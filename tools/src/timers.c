// SPDX-License-Identifier: GPL-2.0-or-later
#include "change.h"
#include "file.h"
#include "message.h"
#include "timers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Levels as Documentation/timers/timershield.rst of the kernel numbers them. */
enum {
	LEVEL_NONE = 0,
	LEVEL_IDLE_POLICY = 1,
	LEVEL_FAIR = 2,
	LEVEL_FIFO = 2,			/* + priority 1..99 */
	LEVEL_DEADLINE = 102,
};

int timers_get(void)
{
	long long value;
	int ret = file_read_number(TIMERS_SWITCH, &value);

	return ret ? ret : value != 0;
}

int timers_set(bool on)
{
	int ret = change_write(TIMERS_SWITCH, on ? "1" : "0");

	if (ret == -ENOENT)
		return failed(-EOPNOTSUPP,
			      "this kernel has no shield against timers (CONFIG_TIMERSHIELD)");
	return ret ? failed(ret, TIMERS_SWITCH ": %s%s", strerror(-ret),
			    ret == -EACCES || ret == -EPERM ? " (run as root)" : "") : 0;
}

int timers_read(struct timers_cpu **cpus, size_t *count)
{
	struct text text = { 0 };
	int ret = file_read(TIMERS_COUNTERS, &text);
	char *rest = text.s, *line;

	*cpus = NULL;
	*count = 0;
	while (!ret && (line = strsep(&rest, "\n"))) {
		struct timers_cpu cpu;

		if (sscanf(line, "%u %u %llu %llu %llu %llu", &cpu.cpu, &cpu.threshold,
			   &cpu.masked, &cpu.released, &cpu.avoided, &cpu.longest_hold) != 6)
			continue;
		*cpus = grow(*cpus, *count + 1, sizeof(**cpus));
		(*cpus)[(*count)++] = cpu;
	}
	text_free(&text);
	return ret;
}

char *timers_level_name(unsigned int level)
{
	if (level <= LEVEL_NONE)
		return copy("nothing");
	if (level == LEVEL_IDLE_POLICY)
		return copy("IDLE");
	if (level == LEVEL_FAIR)
		return copy("OTHER");
	if (level < LEVEL_DEADLINE)
		return format("FIFO %u", level - LEVEL_FIFO);
	return copy("DEADLINE");
}
