/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's queue and what of the choice it serves */
#ifndef BENCH_SHIELD_H
#define BENCH_SHIELD_H

#include <linux/hrtimer.h>

#include "timershield_minima.h"
#include "timershield_queue.h"

#define ktime_get()					0
#define need_resched()					false
/* The softirq runs in its thread. */
#define PF_KTHREAD					1
#define current						(&(struct { int flags; }){ PF_KTHREAD })
#define TICK_NSEC					4000000
#define trace_timershield_expire(_timer, _held, _tick)	do { } while (0)
#include "timershield_expire.h"

/* Makes an empty queue, a struct hrtimer_cpu_base. */
void shield_init(void *queue);

#endif /* BENCH_SHIELD_H */
