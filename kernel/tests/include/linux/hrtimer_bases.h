/* SPDX-License-Identifier: GPL-2.0-only */
/* What the queue uses of linux/hrtimer_types.h and linux/hrtimer_bases.h */
#ifndef _TESTS_LINUX_HRTIMER_BASES_H
#define _TESTS_LINUX_HRTIMER_BASES_H

#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/timerqueue.h>
#include <linux/timershield_types.h>

enum {
	HRTIMER_BASE_MONOTONIC_SOFT = TIMERSHIELD_CLOCKS,
	HRTIMER_BASE_MONOTONIC_TASK = 2 * TIMERSHIELD_CLOCKS,
	HRTIMER_BASE_LEVELS = 3 * TIMERSHIELD_CLOCKS,
	HRTIMER_MAX_CLOCK_BASES = HRTIMER_BASE_LEVELS + TIMERSHIELD_CLOCKS * MAX_RT_PRIO
};

/* The kernel's has no level: its base says which it is. */
struct hrtimer {
	struct timerqueue_linked_node node;
	struct hrtimer_clock_base *base;
	u8 level;
};

struct hrtimer_clock_base {
	struct hrtimer_cpu_base *cpu_base;
	unsigned int index;
	ktime_t expires_next;
	struct timerqueue_linked_head active;
	ktime_t offset;
};

struct hrtimer_cpu_base {
	struct timershield_minima minima;
	struct hrtimer_clock_base clock_base[HRTIMER_MAX_CLOCK_BASES];
};

#endif /* _TESTS_LINUX_HRTIMER_BASES_H */
