/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happens to a CPU while the loop is measured and that no task is to blame for. */
#ifndef TIMERSHIELD_MEANWHILE_H
#define TIMERSHIELD_MEANWHILE_H

#include <stdint.h>

struct meanwhile {
	unsigned int cpu;
	uint64_t steal_ms;		/* that the hypervisor ran something else */
	int64_t smis;			/* system management interrupts; -1: not counted here */
	uint64_t khz_low, khz_high;	/* frequencies seen; 0: not shown here */
	int smi_fd;
	uint64_t steal_start;
	unsigned long long smi_start;
};

void meanwhile_begin(struct meanwhile *meanwhile, unsigned int cpu);

/* Looks at the frequency: as often as is wanted. */
void meanwhile_look(struct meanwhile *meanwhile);
void meanwhile_end(struct meanwhile *meanwhile);

/* The unit of steal_ms. */
long meanwhile_steal_step(void);

/* Hardware counters of the calling thread, kernel included. */
struct counters {
	int cycles_fd, misses_fd;	/* -1: they cannot be counted here */
};

void counters_open(struct counters *counters);
void counters_close(struct counters *counters);

/* 0, or -ENODATA if they were not counted all the time. */
int counters_read(const struct counters *counters, uint64_t *cycles, uint64_t *misses);

#endif
