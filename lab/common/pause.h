/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LAB_PAUSE_H
#define LAB_PAUSE_H

/*
 * pause_cpu() - the instruction that says that this CPU waits
 *
 * Under instruction-counted time virtual CPUs take turns. Who computes for long without it
 * keeps the others from theirs.
 */
static inline void pause_cpu(void)
{
#if defined(__x86_64__)
	__asm__ volatile("pause" ::: "memory");
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#else
#error "which instruction says that this CPU waits?"
#endif
}

#endif
