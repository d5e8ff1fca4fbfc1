/* SPDX-License-Identifier: GPL-2.0-only */
/* tools/include keeps container_of() in kernel.h */
#ifndef _TESTS_LINUX_CONTAINER_OF_H
#define _TESTS_LINUX_CONTAINER_OF_H

#include <linux/bug.h>
#include <linux/kernel.h>

#endif /* _TESTS_LINUX_CONTAINER_OF_H */
