/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets of CPUs, and the texts that the kernel and people write for them.
 *
 * A list is "1,3-5"; a mask is hexadecimal, in groups of eight digits with the
 * highest first, "1,00000000". All functions are safe to call on sets that lie in
 * one another's memory and keep no state.
 */
#ifndef TIMERSHIELD_CPUS_H
#define TIMERSHIELD_CPUS_H

#include "text.h"

#include <limits.h>

/* The most that any Linux supports (x86 with MAXSMP). */
#define CPUS_MAX 8192u

#define CPUS_BITS_PER_LONG (CHAR_BIT * sizeof(long))

struct cpus {
	unsigned long bits[CPUS_MAX / CPUS_BITS_PER_LONG];
};

/*
 * Reads a list; or, with "0x" before it, a mask; or nothing, or "none", for the empty set. White
 * space around it is ignored. Returns 0; -EINVAL for anything else; -ERANGE for a CPU from CPUS_MAX
 * on. *SET is unchanged on error.
 */
int cpus_parse(struct cpus *set, const char *text);

/* The same for a mask without "0x", as in /proc/irq/default_smp_affinity. */
int cpus_parse_mask(struct cpus *set, const char *text);

/*
 * The same for a list of the kernel's command line, which knows more: "N" is LAST, the last CPU,
 * "all" is every CPU, and "0-7:2/4" has the first two of each four.
 */
int cpus_parse_boot(struct cpus *set, const char *text, unsigned int last);

/* Both return a new string without newline; the caller frees it. */
char *cpus_list(const struct cpus *set);
char *cpus_mask(const struct cpus *set);

/* "CPU 3" or "CPUs 1-2,5", and the same with "is" or "are"; the caller frees it. */
char *cpus_named(const struct cpus *set);
char *cpus_are(const struct cpus *set);

/* A pattern for a shell: "3", "{2,3}", or "[0-9]*" for ALL; the caller frees it. */
char *cpus_pattern(const struct cpus *set, const struct cpus *all);

bool cpus_has(const struct cpus *set, unsigned int cpu);
void cpus_add(struct cpus *set, unsigned int cpu);

/* The first CPU of SET from CPU on, or CPUS_MAX. */
unsigned int cpus_next(const struct cpus *set, unsigned int cpu);

#define cpus_for_each(cpu, set)						\
	for (unsigned int cpu = cpus_next(set, 0); (cpu) < CPUS_MAX;	\
	     cpu = cpus_next(set, (cpu) + 1))

unsigned int cpus_count(const struct cpus *set);
bool cpus_empty(const struct cpus *set);
bool cpus_equal(const struct cpus *a, const struct cpus *b);
bool cpus_intersect(const struct cpus *a, const struct cpus *b);

/* Whether every CPU of A is in B. */
bool cpus_subset(const struct cpus *a, const struct cpus *b);

struct cpus cpus_and(const struct cpus *a, const struct cpus *b);
struct cpus cpus_or(const struct cpus *a, const struct cpus *b);
struct cpus cpus_and_not(const struct cpus *a, const struct cpus *b);

#endif
