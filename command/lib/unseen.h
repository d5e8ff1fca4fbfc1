/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What stops a CPU and is in no event of the kernel's: SMIs, NMIs, a hypervisor. */
#ifndef TIMERSHIELD_UNSEEN_H
#define TIMERSHIELD_UNSEEN_H

#include <stdint.h>

/*
 * How often firmware (SMI) has stopped a CPU since boot, from a register that only Intel's have.
 * 0, -EOPNOTSUPP where there is none, -ENOENT without the module msr, or -errno.
 */
int unseen_smis(unsigned int cpu, unsigned long long *count);

/* In the text of /proc/interrupts the counters of a source, "LOC" or a number; "" if it is not there. */
const char *unseen_counters(const char *interrupts, const char *name);

/* The NMIs of all CPUs since boot; 0 if that is not known. */
unsigned long long unseen_nmis(void);

/* ns stolen from the first COUNT CPUs since boot, in steps of a clock tick; the caller frees it. */
uint64_t *unseen_steal(unsigned int count);

#endif
