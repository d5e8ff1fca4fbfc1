/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The HPET's periodic interrupt. */
#ifndef ISOLATED_CPU_SOURCE_H
#define ISOLATED_CPU_SOURCE_H

#include <stdint.h>

/* The registers of a HPET; struct hpet of the kernel's <linux/hpet.h>. */
struct hpet_registers;

struct source {
	int fd;
	int period_ns;
	const volatile struct hpet_registers *hpet;
	unsigned int timer;	/* of it */
};

/* Directed to CPU alone. 0 or -errno. */
int source_open(struct source *source, int cpu);

/* Waits for an interrupt. How many there were since the last call; 0: failed. */
uint32_t source_wait(const struct source *source);

/*
 * When, by CLOCK_MONOTONIC, the first of COUNT interrupts was due that were read just
 * before NOW_NS.
 */
int64_t source_due_ns(const struct source *source, uint32_t count, int64_t now_ns);

#endif
