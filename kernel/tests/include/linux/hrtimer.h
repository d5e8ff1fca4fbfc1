/* SPDX-License-Identifier: GPL-2.0-only */
/* What the queue uses of linux/hrtimer.h */
#ifndef _TESTS_LINUX_HRTIMER_H
#define _TESTS_LINUX_HRTIMER_H

#include <linux/bits.h>
#include <linux/bitops.h>
#include <linux/hrtimer_types.h>
#include <linux/timerqueue.h>
#include <linux/timershield_types.h>

enum { HRTIMER_BASE_MONOTONIC };

struct hrtimer_clock_base {
	unsigned int index;
	ktime_t offset;
};

struct hrtimer_cpu_base {
	struct hrtimer_clock_base clock_base[TIMERSHIELD_CLOCKS];
	struct hrtimer_levels levels;
};

static inline ktime_t hrtimer_get_expires(const struct hrtimer *timer)
{
	return timer->node.expires;
}

static inline ktime_t hrtimer_get_softexpires(const struct hrtimer *timer)
{
	return timer->_softexpires;
}

#endif /* _TESTS_LINUX_HRTIMER_H */
