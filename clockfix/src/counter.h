/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * counter.h - the CPU's counter, disciplined against CLOCK_MONOTONIC
 *
 * The counter is cheaper to read than the clock, so polling it is finer. But what it says is a
 * prediction of what the clock would say: the kernel corrects the clock's speed at any moment,
 * and virtual machines migrate. So the counter only decides when to read the clock next, so
 * aimed that the read returns the instant itself; the clock has the last word on whether it has
 * come. How well the aim was is learned, too.
 *
 * Each read of the clock is an anchor: the counter, read immediately before, belongs to a time
 * not later than the clock's. An interruption between the two reads therefore makes the aim too
 * early, never too late.
 */
#ifndef CLOCKFIX_COUNTER_H
#define CLOCKFIX_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

#define LEAD_STEP	32	/* of the first corrections, in 1/16 ticks */
#define EARLY_MOST	4

struct anchor {
	uint64_t counter;
	int64_t clock;
};

struct counter {
	struct anchor now;		/* last read of the clock */
	struct anchor base, next_base;	/* speed is measured from base */
	uint64_t ticks_per_ns;		/* 32.32 fixed point */
	int64_t lead;			/* in 1/16 ticks: begin to read the clock so much earlier */
	uint32_t aims;			/* so many corrected the lead */
	uint32_t faults;		/* in a row */
};

/* Calibrate. False if the counter does not run. */
bool counter_init(struct counter *counter);

/* Take a new anchor. */
static inline void counter_anchor(struct counter *counter, uint64_t count, int64_t clock)
{
	counter->now = (struct anchor){ .counter = count, .clock = clock };
}

/*
 * Correct the speed by the last anchor: to be done when there is time. Returns whether the
 * anchor fitted the others.
 */
bool counter_discipline(struct counter *counter);

static inline int64_t counter_ticks(const struct counter *counter, int64_t ns)
{
	return ((__int128)ns * counter->ticks_per_ns) >> 32;
}

/* ticks from the last anchor until a read of the clock should begin that is to return @instant */
static inline uint64_t counter_aim(const struct counter *counter, int64_t instant)
{
	int64_t ticks = counter_ticks(counter, instant - counter->now.clock) - counter->lead / 16;

	return ticks > 0 ? ticks : 0;
}

/*
 * Are @ticks not over yet? If the counter jumps, backwards too, they are over, or it still lies
 * within them: it never takes longer than they do.
 */
static inline bool counter_within(const struct counter *counter, uint64_t count, uint64_t ticks)
{
	return count - counter->now.counter < ticks;
}

/*
 * Of the reads aimed for an instant, @early came too early, one did not. A read too early costs
 * another read, an aim too careful costs what it is too careful by: one early read in 25 is the
 * compromise. The first hundred corrections are greater, so that the lead is soon found. Of a
 * counter that jumped all reads are early: no more than a few count.
 */
static inline void counter_aimed(struct counter *counter, unsigned int early)
{
	int64_t step = LEAD_STEP >> counter->aims / 16;

	if (step > 1)
		counter->aims++;
	counter->lead += step * (1 - 24 * (int64_t)(early < EARLY_MOST ? early : EARLY_MOST));
}

uint64_t counter_hz(const struct counter *counter);

#endif
