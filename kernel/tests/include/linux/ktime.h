/* SPDX-License-Identifier: GPL-2.0-only */
/* What the queue uses of linux/ktime.h */
#ifndef _TESTS_LINUX_KTIME_H
#define _TESTS_LINUX_KTIME_H

#include <linux/types.h>

#define KTIME_MAX		INT64_MAX
#define ktime_sub(_a, _b)	((_a) - (_b))

#endif /* _TESTS_LINUX_KTIME_H */
