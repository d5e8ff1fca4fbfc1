/* SPDX-License-Identifier: GPL-2.0-only */
/* Warnings are reported to the test program, which decides what they mean */
#ifndef _TESTS_LINUX_BUG_H
#define _TESTS_LINUX_BUG_H

#include <linux/compiler.h>
#include <linux/types.h>

void kernel_warned(const char *file, int line);

#define WARN_ON_ONCE(_condition) ({			\
	bool __warn = !!(_condition);			\
							\
	if (unlikely(__warn))				\
		kernel_warned(__FILE__, __LINE__);	\
	unlikely(__warn);				\
})

#endif /* _TESTS_LINUX_BUG_H */
