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

/* CPU time of the calling thread; takes a system call */
static inline int64_t pf_cpu_time(void)
{
	return pf_clock(CLOCK_THREAD_CPUTIME_ID);
}

static inline void pf_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("pause" ::: "memory");
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#endif
}

/*
 * Sleep while *@word == @val, until CLOCK_MONOTONIC reaches @until (INT64_MAX: for ever).
 * Returns 0 if woken, -ETIMEDOUT, -EAGAIN if *@word was different, -EINTR.
 */
int pf_futex_wait(const _Atomic uint32_t *word, uint32_t val, int64_t until);
void pf_futex_wake(const _Atomic uint32_t *word);

/* Sleep in a thread of the caller's until @clock shows @until; 0 or -EINTR. A cancellation point. */
int pf_sleep(clockid_t clock, int64_t until);

/* Has the calling thread real-time priority? */
bool pf_realtime(void);

/* ns for which a real-time thread may go without a sleep, or the kernel ends it */
int64_t pf_awake_limit(void);

/* zeroed pages, which take memory once they are written to */
void *pf_alloc(size_t size);
void pf_free(void *mem, size_t size);

#endif
