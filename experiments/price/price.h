/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the shield gives and costs: each row is measured with the shield off, and in each mode. */
#ifndef PRICE_H
#define PRICE_H

#include "interrupts.h"

#include <stdbool.h>
#include <stdint.h>

struct row {
	const char *name;
	void (*measure)(const struct row *row);
	const char *load;	/* of command/loop, if it takes one */
	int64_t number;		/* of timers, or ns between them */
	int priority[2];	/* SCHED_FIFO, 0: SCHED_OTHER */
};

/* Files of figures; the mode that is on */
void figures_begin(void);
void figures_of_mode(int of);
void figures_end(int modes);

/* Keep a figure: of a row, in the mode that is on. */
void found(const struct row *row, const char *figure, double value, int samples);
/* The same of the median, the 99th percentile and the maximum. */
void found_samples(const struct row *row, int64_t *samples, int count);

/* The program ends unless it is @right. */
void must(bool right, const char *what);

/* A SCHED_FIFO 99 job each millisecond, next to @number timerfds of its own process */
void job(const struct row *row);
/* Arm a timerfd, or if @number is 0 cancel it; it never expires */
void arming(const struct row *row);
/* Next to @load: what a SCHED_IDLE task gets done in a second, and how late the load's tasks are */
void spare(const struct row *row);
/* @load, tasks that wake at one instant: when the last one is done */
void synchronized(const struct row *row);
/* 1,000 timers of an ordinary task, @number ns apart, that expire while a real-time one runs */
void release(const struct row *row);
/* What an ordinary task gets done in a second next to one that arms 50,000 timers meanwhile */
void neighbour(const struct row *row);
/* Two tasks of @priority wake each other. */
void pair(const struct row *row);

#endif
