// SPDX-License-Identifier: GPL-2.0-or-later
#include "interrupts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Timer interrupts of all CPUs: "LOC:" on x86, "arch_timer" on arm64. */
uint64_t timer_interrupts(void)
{
	FILE *file = fopen("/proc/interrupts", "re");
	uint64_t sum = 0;
	char line[1024];

	while (file && fgets(line, sizeof(line), file)) {
		char *next = strchr(line, ':');

		if (!next || !(strstr(line, "LOC:") || strstr(line, "arch_timer")))
			continue;
		for (next++;;) {
			char *end;
			uint64_t n = strtoull(next, &end, 10);

			if (end == next)
				break;
			sum += n;
			next = end;
		}
	}
	if (file)
		fclose(file);
	return sum;
}
