/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPUs and priorities of the workloads' tasks. All return 0 or -errno, after a message. */
#ifndef LAB_TASKS_H
#define LAB_TASKS_H

#include <sys/types.h>

/* Print that @what failed, and why; -errno. */
int failed(const char *what);

/* Allow the calling task CPU @cpu alone. */
int task_pin(int cpu);

/* Make task @pid, 0: the calling one, SCHED_FIFO @priority, 0: SCHED_OTHER. */
int task_fifo(pid_t pid, int priority);

#endif
