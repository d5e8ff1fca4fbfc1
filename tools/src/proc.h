/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's own shield, /proc/shield (CONFIG_CPU_SHIELD). */
#ifndef TIMERSHIELD_PROC_H
#define TIMERSHIELD_PROC_H

#include "cpus.h"

#include <stdbool.h>

#define PROC_PROCS "/proc/shield/procs"
#define PROC_IRQS "/proc/shield/irqs"
#define PROC_REPORT "/proc/shield/report"

bool proc_available(void);

/* Both return 0, or -errno after a message. FILE is PROC_PROCS or PROC_IRQS. */
int proc_read(const char *file, struct cpus *cpus);
int proc_write(const char *file, const struct cpus *cpus);

#endif
