/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tasks whose timers wait while something else is measured. */
#ifndef LAB_SLEEPERS_H
#define LAB_SLEEPERS_H

/* start_long_sleepers() - SCHED_FIFO 10 threads that sleep for an hour; 0 or -errno, after a message */
int start_long_sleepers(int count);

#endif
