/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A window of time in which a task spins and counts what interrupts it, by two
 * witnesses that know nothing of each other:
 *
 * - the task polls the clock; a step longer than GAP is an interruption. Under
 *   instruction-counted time this misses none and invents none;
 * - the kernel's tracepoints: every timer interrupt on the CPU, and every
 *   hrtimer that expired on it.
 *
 * The tick stays whatever the shield does; timers that expire in it, or in another interrupt of
 * the kernel's, because they were held for a tick are counted apart. A timer interrupt is "foreign" if it
 * expired a task's timer, or if it expired neither the tick nor another timer of
 * the kernel's own (a needless interrupt is an interruption too).
 */
#ifndef TESTS_WINDOW_H
#define TESTS_WINDOW_H

#include "tap.h"

#define GAP 400ull		/* ns; polling takes less than 100, an interrupt 1500 and more */

struct window {
	u64 begin, end;			/* CLOCK_MONOTONIC */
	unsigned int gaps;		/* interruptions that the task saw */
	u64 longest;			/* the longest of them, ns */
	unsigned int interrupts;	/* timer interrupts, by the tracepoints */
	unsigned int ticks;		/* of these: with the tick */
	unsigned int foreign;		/* of these: foreign */
	unsigned int expired;		/* tasks' timers that expired, but for ... */
	unsigned int held;		/* ... those in an interrupt that came anyway */
	unsigned int most;		/* of expired, in one interrupt */
};

/* Call before any window: prepares the tracepoints. */
void window_prepare(void);

/* Spins until then on CLOCK_MONOTONIC. */
void window_spin(struct window *window, u64 until);

/* Spins on, in a window that was opened before; what happens in between does not count. */
void window_go_on(struct window *window, u64 until);

/* The same without spinning, for a task that does something else meanwhile. */
void window_open(struct window *window);
void window_close(struct window *window);

/* Fills in what the tracepoints saw; may take long. */
void window_read(struct window *window);

/* The window saw no task's timer; NAME is what runs in it. */
void check_undisturbed(const struct window *window, const char *name);

/* The same window with the shield off did see some: the instrument works. */
void require_disturbed(const struct window *window, const char *name);

/* Both, of what PLAY leaves. Skips the test on a debug kernel, which takes longer than a window. */
void check_masked(void (*play)(struct window *window), const char *name);

#endif
