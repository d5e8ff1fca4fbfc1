/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * tai.h - the distance of CLOCK_TAI from CLOCK_MONOTONIC, and its steps
 *
 * Both clocks run at the same speed; their distance is constant but for steps. The kernel tells
 * of steps of the time of day by cancelling a timerfd on CLOCK_REALTIME. A thread that waits for
 * that is started with the first job by CLOCK_TAI. A change of nothing but the kernel's offset of
 * TAI is not told; the thread looks for it twice a second.
 */
#ifndef CLOCKFIX_TAI_H
#define CLOCKFIX_TAI_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct wake;

struct tai {
	_Atomic int64_t offset;		/* CLOCK_TAI - CLOCK_MONOTONIC */
	_Atomic uint64_t steps;
	struct wake *wake;
	pthread_t thread;
	bool watching;
	_Atomic bool stop;
	int timer_fd, stop_fd;
};

/* the same instant by CLOCK_MONOTONIC */
static inline int64_t tai_to_mono(struct tai *tai, int64_t instant)
{
	return instant - atomic_load_explicit(&tai->offset, memory_order_acquire);
}

/* The distance of @clock from CLOCK_MONOTONIC; -EINVAL: there is no such clock. */
int clock_offset(clockid_t clock, int64_t *offset);

/* Read both clocks anew; returns whether their distance has changed. */
bool tai_update(struct tai *tai);

/* Begin to watch; 0 or -errno, when steps are noticed at wake-ups only. */
int tai_watch(struct tai *tai, struct wake *wake);
void tai_unwatch(struct tai *tai);

/* In a child after fork(), where the thread does not exist: only give the descriptors back. */
void tai_close(struct tai *tai);

#endif
