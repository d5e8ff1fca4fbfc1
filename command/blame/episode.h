/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The worst episode of a CPU. Its parts are copied once, when it has ended: a storm of timers is
 * one episode that each of them makes longer, and a copy for each took longer than the timers.
 */
#ifndef TIMERSHIELD_BLAME_EPISODE_H
#define TIMERSHIELD_BLAME_EPISODE_H

#include "blame_types.h"

#ifndef __bpf__				/* there it is a call of the kernel's */
#define LOOP(count, function, argument)						\
	do {									\
		for (u32 loop_i = 0; loop_i < (count); loop_i++)		\
			if (function(loop_i, argument))				\
				break;						\
	} while (0)
#endif

#define inline_always static inline __attribute__((always_inline))

/* The newest ones, and then the oldest ones: what is in between is overwritten. */
inline_always u32 episode_slot(u32 i)
{
	u32 slot = (i & (EPISODE_SEGMENTS / 2 - 1)) + (i < EPISODE_SEGMENTS / 2 ? 0 : EPISODE_SEGMENTS / 2);

	/* Linux 6.1 does not see that it is below EPISODE_SEGMENTS, the compiler does */
	__asm__ volatile("" : "+r"(slot));
	return slot & (EPISODE_SEGMENTS - 1);
}

/* From the newest one backwards; what is newer than the episode is left out. */
static long copy_segment(u32 i, void *argument)
{
	struct cpu *cpu = *(struct cpu **)argument;
	const struct segment *from = &cpu->recent[(cpu->head - 1 - i) & (RECENT_SEGMENTS - 1)];
	u32 count = cpu->episode.count;
	struct segment *last = &cpu->episode.segments[episode_slot(count - 1)];

	if (from->end <= cpu->episode.start)
		return 1;
	if (from->start >= cpu->episode.end ||
	    (from->cause.victim && from->cause.victim != cpu->episode.victim))
		return 0;
	if (count && last->start == from->end && last->cause.kind == from->cause.kind &&
	    last->cause.id == from->cause.id && last->cause.function == from->cause.function) {
		last->start = from->start;
		return 0;
	}
	cpu->episode.segments[episode_slot(count)] = *from;
	cpu->episode.count = count + 1;
	return 0;
}

/* Keeps the current episode if it is longer than the worst so far, and than OVER ns. */
inline_always void keep_episode(struct cpu *cpu, u64 over)
{
	u64 length = cpu->episode_end - cpu->episode_start;
	struct cpu *argument = cpu;

	if (length <= cpu->episode.length || length < over)
		return;
	cpu->episode.length = length;
	cpu->episode.start = cpu->episode_start;
	cpu->episode.end = cpu->episode_end;
	cpu->episode.victim = cpu->episode_victim;
	cpu->episode.count = 0;
	LOOP(RECENT_SEGMENTS, copy_segment, &argument);
}

#endif
