/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the kernel was built and started, as far as that can be read. */
#ifndef TIMERSHIELD_KERNEL_H
#define TIMERSHIELD_KERNEL_H

#include <stdbool.h>

/*
 * The value of a configuration option such as "CONFIG_HZ", "y" or "250"; "" if it is not
 * set; NULL if the configuration cannot be read. The caller frees it.
 */
char *kernel_option(const char *name);

/* Whether it is known to be "y". */
bool kernel_has(const char *name);

/*
 * The value of a parameter on the kernel's command line, where it stands last; "" without "="; NULL
 * if it is not there. The caller frees it.
 */
char *kernel_parameter(const char *name);

#endif
