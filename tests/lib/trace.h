/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's tracepoints on test_cpu, read from tracefs. */
#ifndef TESTS_TRACE_H
#define TESTS_TRACE_H

#include "tap.h"

/* Stops and empties the trace, and disables every event. */
void trace_prepare(void);

void trace_enable(const char *event);

void trace_clear(void);
void trace_on(void);
void trace_off(void);

/* Calls FUNCTION with every traced line, the oldest first. */
void trace_for_each(void (*function)(char *line, void *argument), void *argument);

/* Timer interrupts of the CPU since boot, from /proc/interrupts. */
u64 timer_interrupts(unsigned int cpu);

/* How often the kernel took a timer interrupt for a hang, on all CPUs; of /proc/timer_list. */
unsigned int hangs(void);

/* Interrupts that other CPUs have sent to a CPU, so far. */
u64 ipis(unsigned int cpu);

#endif
