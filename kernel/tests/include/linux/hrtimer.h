/* SPDX-License-Identifier: GPL-2.0-only */
/* What the queue uses of linux/hrtimer.h */
#ifndef _TESTS_LINUX_HRTIMER_H
#define _TESTS_LINUX_HRTIMER_H

#include <linux/hrtimer_types.h>
#include <linux/timerqueue.h>

static inline ktime_t hrtimer_get_expires(const struct hrtimer *timer)
{
	return timer->node.expires;
}

static inline ktime_t hrtimer_get_softexpires(const struct hrtimer *timer)
{
	return timer->_softexpires;
}

#endif /* _TESTS_LINUX_HRTIMER_H */
