/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cpu.h - the CPU's counter */
#ifndef CLOCKFIX_CPU_H
#define CLOCKFIX_CPU_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)

static inline uint64_t cpu_counter(void)
{
	uint32_t lo, hi;

	/*
	 * Not serialised: it may be read some instructions early. It only decides when to ask
	 * CLOCK_MONOTONIC, which has the last word.
	 */
	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}

static inline void cpu_relax(void)
{
	__asm__ volatile("pause" ::: "memory");
}

#define CPU_COUNTER_NAME "tsc"

#elif defined(__aarch64__)

static inline uint64_t cpu_counter(void)
{
	uint64_t val;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(val) :: "memory");
	return val;
}

static inline void cpu_relax(void)
{
	__asm__ volatile("yield" ::: "memory");
}

#define CPU_COUNTER_NAME "cntvct"

#else
#error "libclockfix runs on x86-64 and arm64"
#endif

/* Is the counter invariant, synchronised between CPUs, and the kernel's own clock source? */
bool cpu_counter_sound(void);

#endif
