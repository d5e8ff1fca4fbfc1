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
	uint64_t steal_start;
	unsigned long long smi_start;
};

void meanwhile_begin(struct meanwhile *meanwhile, unsigned int cpu);

/* Looks at the frequency: as often as is wanted. */
void meanwhile_look(struct meanwhile *meanwhile);
void meanwhile_end(struct meanwhile *meanwhile);

/* The unit of steal_ms. */
long meanwhile_steal_step(void);

#endif
