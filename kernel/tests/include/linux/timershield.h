/* SPDX-License-Identifier: GPL-2.0-only */
/* What the queue uses of linux/timershield.h */
#ifndef _TESTS_LINUX_TIMERSHIELD_H
#define _TESTS_LINUX_TIMERSHIELD_H

#define TIMERSHIELD_ORDINARY	1
#define TIMERSHIELD_REALTIME	2

#endif /* _TESTS_LINUX_TIMERSHIELD_H */
