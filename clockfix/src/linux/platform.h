/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * platform.h - all that the library asks of the machine
 *
 * Tests put another file of this name into the include path, with a simulated clock and
 * simulated sleeps, and compile the very same sources against it.
 */
#ifndef CLOCKFIX_PLATFORM_H
#define CLOCKFIX_PLATFORM_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "cpu.h"

#define NSEC_PER_SEC 1000000000LL

static inline int64_t pf_clock(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts))
		return -EINVAL;
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static inline int64_t pf_mono(void)
{
	return pf_clock(CLOCK_MONOTONIC);
}

/* period of the kernel's tick, 0 if it is not known */
static inline int64_t pf_tick(void)
{
	struct timespec ts;

	/* what the coarse clock shows changes with each */
	if (clock_getres(CLOCK_MONOTONIC_COARSE, &ts) || ts.tv_sec)
		return 0;
	return ts.tv_nsec;
}

static inline uint64_t pf_counter(void)
{
	return cpu_counter();
}

static inline void pf_relax(void)
{
	cpu_relax();
}

/* Low-power wait until the counter reaches @counter or @word is written; may end early. */
static inline void pf_low_power_wait(const void *word, uint32_t val, uint64_t counter)
{
	cpu_low_power_wait(word, val, counter);
}

/*
 * Sleep while *@word == @val, until CLOCK_MONOTONIC reaches @until (INT64_MAX: for ever).
 * Returns 0 if woken, -ETIMEDOUT, -EAGAIN if *@word was different, -EINTR.
 */
int pf_futex_wait(const _Atomic uint32_t *word, uint32_t val, int64_t until);
void pf_futex_wake(const _Atomic uint32_t *word);

/* Sleep in a thread of the caller's; 0 or -EINTR. A cancellation point. */
int pf_sleep(int64_t until);

/* memory for job slots: zeroed, 2 MB each, if wished in a huge page where the system has one */
void *pf_alloc(size_t size, bool huge);
void pf_free(void *mem, size_t size);

#endif
