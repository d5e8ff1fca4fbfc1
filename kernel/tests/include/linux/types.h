/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's ktime_t, which tools/include lacks */
#ifndef _TESTS_LINUX_TYPES_H
#define _TESTS_LINUX_TYPES_H

#include_next <linux/types.h>

typedef s64 ktime_t;

#endif /* _TESTS_LINUX_TYPES_H */
