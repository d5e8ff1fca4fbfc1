/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where periodic interrupts come from. */
#ifndef ISOLATED_CPU_SOURCE_H
#define ISOLATED_CPU_SOURCE_H

#include <stdint.h>

/* The registers of a HPET; struct hpet of the kernel's <linux/hpet.h>. */
struct hpet_registers;

struct source {
	int fd;
	int period_ns;
	int64_t start_ns;	/* when it was switched on; or a little before */
	int (*read)(int fd);	/* how many interrupts there were, see source_wait() */
	const volatile struct hpet_registers *hpet;	/* or NULL */
	unsigned int timer;	/* of it */
};

/*
 * /dev/rtc0's periodic interrupt, as the article has it. Linux serves it by a high-resolution
 * timer of the CPU that switches it on. 0 or -errno.
 */
int source_open_rtc(struct source *source);

/* The HPET's, directed to CPU alone. 0 or -errno. */
int source_open_hpet(struct source *source, int cpu);

/* Waits for an interrupt. How many there were since the last call; 0: failed. */
uint32_t source_wait(const struct source *source);

/*
 * When, by CLOCK_MONOTONIC, the first of COUNT interrupts was due that were read just
 * before NOW_NS, after BEFORE others.
 */
int64_t source_due_ns(const struct source *source, uint32_t before, uint32_t count,
		      int64_t now_ns);

#endif
