/* SPDX-License-Identifier: GPL-2.0-only */
/* tools/include keeps max() in kernel.h, and has it refuse a constant next to a u8 */
#ifndef _TESTS_LINUX_MINMAX_H
#define _TESTS_LINUX_MINMAX_H

#include <linux/bug.h>
#include <linux/kernel.h>

#undef max
#define max(_a, _b) ({ typeof(_a) _x = (_a); typeof(_b) _y = (_b); _x > _y ? _x : _y; })

#endif /* _TESTS_LINUX_MINMAX_H */
