/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A CPU of one's own, by the timershield command. All return 0 or -errno, after a message. */
#ifndef LAB_ISOLATE_H
#define LAB_ISOLATE_H

/* Keep tasks and interrupts off @cpu. */
int isolate_cpu(int cpu);

/* As this configuration file says. */
int isolate_as(const char *config);

/* Let the calling process run there, and nowhere else. */
int isolate_enter(int cpu);

/* Undo the isolation. */
int isolate_end(void);

#endif
