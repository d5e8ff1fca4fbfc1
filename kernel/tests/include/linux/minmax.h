/* SPDX-License-Identifier: GPL-2.0-only */
/* tools/include keeps max() in kernel.h */
#ifndef _TESTS_LINUX_MINMAX_H
#define _TESTS_LINUX_MINMAX_H

#include <linux/bug.h>
#include <linux/kernel.h>

#endif /* _TESTS_LINUX_MINMAX_H */
