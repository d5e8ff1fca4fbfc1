// SPDX-License-Identifier: GPL-2.0-or-later
/* The job's CPU is taken from all tasks and interrupts but those that are for it alone. */
#define _GNU_SOURCE
#include "together.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const files[] = { "/proc/shield/procs", "/proc/shield/irqs" };

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

int shield_cpu(int cpu)
{
	char text[16];

	snprintf(text, sizeof(text), "%d\n", cpu);
	for (int i = 0; i < 2; i++) {
		int ret = write_text(files[i], text);

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
		write_text(files[i], "\n");
}
