// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes without any privilege that take what CPU time they get. A hog does for the most
 * part in the kernel: it maps, touches and gives back memory, and has a file written and read.
 * A spinner computes.
 */
#define _GNU_SOURCE
#include "together.h"
#include "clock.h"
#include "pause.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define AREA (256 * 1024)
#define PAGE 4096
#define SPIN 2000

static void use_memory(void)
{
	char *area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		return;
	for (size_t i = 0; i < AREA; i += PAGE)
		area[i] = 1;
	munmap(area, AREA);
}

static void use_file(int fd)
{
	char block[16 * 1024];

	memset(block, 1, sizeof(block));
	if (pwrite(fd, block, sizeof(block), 0) == sizeof(block))
		(void)!pread(fd, block, sizeof(block), 0);
}

/* Give up privileges, and wait for time zero. */
static int begin(struct together *together)
{
	struct load_task self = { .policy = 0, .unprivileged = true };

	munlockall();
	if (task_become(&self))
		return -1;
	task_ready_and_wait(&together->run.loads, 0);
	return 0;
}

static int hog(struct together *together)
{
	const struct shared *shared = together->run.loads.shared;
	int fd = memfd_create("hog", MFD_CLOEXEC);

	if (fd < 0 || begin(together))
		return 1;
	while (clock_ns() < shared->stop) {
		use_memory();
		use_file(fd);
		pause_cpu();
	}
	return 0;
}

static int spinner(struct together *together)
{
	const struct shared *shared = together->run.loads.shared;

	if (begin(together))
		return 1;
	while (clock_ns() < shared->stop) {
		for (int i = 0; i < SPIN; i++)
			__asm__ volatile("" ::: "memory");
		pause_cpu();
	}
	return 0;
}

int hogs_start(struct run *run)
{
	struct together *together = together_of(run);

	for (int i = 0; i < together->hogs + together->spinners; i++) {
		int pid = load_fork(&run->loads);

		if (pid < 0)
			return pid;
		if (!pid)
			_exit(i < together->hogs ? hog(together) : spinner(together));
	}
	return 0;
}
