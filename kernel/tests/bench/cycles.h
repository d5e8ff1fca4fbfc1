/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CPU's counter, read so that all that comes before is done and nothing
 * that comes after has begun.
 */
#ifndef CYCLES_H
#define CYCLES_H

#include <linux/types.h>

#if defined(__x86_64__)
static inline void serialize(void)
{
	asm volatile("lfence" ::: "memory");
}

static inline u64 read_counter(void)
{
	u32 low, high;

	asm volatile("lfence; rdtsc; lfence" : "=a"(low), "=d"(high) :: "memory");
	return (u64)high << 32 | low;
}
#elif defined(__aarch64__)
static inline void serialize(void)
{
	asm volatile("dsb sy; isb" ::: "memory");
}

static inline u64 read_counter(void)
{
	u64 count;

	asm volatile("dsb sy; isb; mrs %0, cntvct_el0; isb" : "=r"(count) :: "memory");
	return count;
}
#else
#error "this benchmark knows the counters of x86-64 and arm64 only"
#endif

#endif /* CYCLES_H */
