/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading time: the kernel's clock in ns, and the CPU's own counter. */
#ifndef LOOP_CLOCK_H
#define LOOP_CLOCK_H

#include <errno.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#define NSEC_PER_USEC	1000ll
#define NSEC_PER_MSEC	1000000ll
#define NSEC_PER_SEC	1000000000ll

/* clock_ns() - CLOCK_MONOTONIC in ns */
static inline int64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

/* to_timespec() - @ns as a struct timespec */
static inline struct timespec to_timespec(int64_t ns)
{
	return (struct timespec){ ns / NSEC_PER_SEC, ns % NSEC_PER_SEC };
}

/* sleep_until() - sleep until CLOCK_MONOTONIC reads @ns or more */
static inline void sleep_until(int64_t ns)
{
	struct timespec until = to_timespec(ns);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/*
 * recording() - tell the emulator's plugin to begin counting instructions, and to end
 *
 * The host sees the system call; it does nothing that matters here.
 */
static inline void recording(void)
{
	struct itimerval unused;

	getitimer(ITIMER_VIRTUAL, &unused);
}

/* counter() - the CPU's time counter in ticks of its own */
static inline uint64_t counter(void)
{
#if defined(__x86_64__)
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high) :: "memory");
	return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
	uint64_t value;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value) :: "memory");
	return value;
#else
#error "no time counter known for this architecture"
#endif
}

#endif
