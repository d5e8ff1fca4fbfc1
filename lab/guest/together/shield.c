// SPDX-License-Identifier: GPL-2.0-or-later
/* The job's CPU is taken from all tasks and interrupts but those that are for it alone. */
#define _GNU_SOURCE
#include "together.h"
#include "file.h"

#include <stdio.h>
#include <string.h>

static const char *const files[] = { "/proc/shield/procs", "/proc/shield/irqs" };

int shield_cpu(int cpu)
{
	char text[16];

	snprintf(text, sizeof(text), "%d\n", cpu);
	for (int i = 0; i < 2; i++) {
		int ret = file_write(files[i], text);

		if (ret) {
			fprintf(stderr, "together: %s: %s\n", files[i], strerror(-ret));
			shield_end();
			return ret;
		}
	}
	return 0;
}

void shield_end(void)
{
	for (int i = 0; i < 2; i++)
		file_write(files[i], "\n");
}
