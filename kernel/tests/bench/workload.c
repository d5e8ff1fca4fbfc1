// SPDX-License-Identifier: GPL-2.0-only
/*
 * A load that stays the same size: every round removes timers at random, adds
 * as many with a new expiry, asks, and pops and re-arms the earliest.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/bits.h>

#include "cycles.h"
#include "workload.h"

/* Expiries lie up to this many ns ahead: far more than there are timers */
#define HORIZON		BIT_ULL(40)
#define ONE_LEVEL	50
#define TOP_LEVEL	99
/* A timer lies at any multiple of 8 bytes, as on stacks and in objects */
#define SLOT		128
#define SLOT_SHIFTS	8

const char *const operation_name[NR_OPERATIONS] = {
	[DEQUEUE]	= "dequeue",
	[ENQUEUE]	= "enqueue",
	[QUERY]		= "query",
	[POP]		= "pop",
	[SERVE]		= "serve",
};

static u64 random_state;

void random_seed(u64 seed)
{
	random_state = seed;
}

/* splitmix64 */
static u64 random_u64(void)
{
	u64 z = random_state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static u8 random_level(const struct load *load)
{
	return load->many_levels ? 1 + random_u64() % TOP_LEVEL : ONE_LEVEL;
}

/*
 * A batch takes BATCH timers. Of a short queue that would be too many, so
 * several queues share a batch.
 */
unsigned int nr_queues(const struct load *load)
{
	if (load->timers < BATCH)
		return BATCH;
	return load->timers < 4 * BATCH ? 4 : 1;
}

static bool drawn_before(const struct round *round, unsigned int nr,
			 unsigned int queues)
{
	for (unsigned int i = nr % queues; i < nr; i += queues) {
		if (round->index[i] == round->index[nr])
			return true;
	}
	return false;
}

/* Draw what the next round does. */
void random_round(const struct load *load, struct round *round)
{
	unsigned int queues = nr_queues(load);

	for (unsigned int i = 0; i < BATCH; i++) {
		do {
			round->index[i] = random_u64() % load->timers;
		} while (drawn_before(round, i, queues));
		round->threshold[i] = 1 + random_u64() % TOP_LEVEL;
		for (int use = 0; use < 2; use++) {
			round->delay[use][i] = random_u64() % HORIZON;
			round->level[use][i] = random_level(load);
		}
	}
}

static struct hrtimer *timer_at(struct arena *arena, const struct load *load,
				unsigned int queue, unsigned int index)
{
	size_t nr = (size_t)queue * load->timers + index;
	/* The same shift in every arena, whatever the load did before */
	size_t shift = (nr * 2654435761u >> 16) % SLOT_SHIFTS;

	return (void *)(arena->slots + nr * SLOT + shift * 8);
}

static void arm(struct hrtimer *timer, ktime_t expires, u8 level)
{
	timer->node.expires = expires;
	timer->level = level;
}

static void add_all(struct arena *arena, const struct load *load)
{
	for (unsigned int q = 0; q < nr_queues(load); q++) {
		for (unsigned int i = 0; i < load->timers; i++) {
			struct hrtimer *timer = timer_at(arena, load, q, i);

			timerqueue_linked_init(&timer->node);
			arm(timer, arena->now[q] + random_u64() % HORIZON,
			    random_level(load));
			arena->contender->add(arena->queue[q], timer);
		}
	}
}

/**
 * arena_fill - Queue a load's timers
 * @arena:	to fill
 * @contender:	the queue to use
 * @load:	the load
 * @seed:	equal seeds give equal timers
 *
 * Return: 0, or -ENOMEM.
 */
int arena_fill(struct arena *arena, const struct contender *contender,
	       const struct load *load, u64 seed)
{
	unsigned int queues = nr_queues(load);
	size_t size = (size_t)queues * load->timers * SLOT;

	memset(arena, 0, sizeof(*arena));
	arena->contender = contender;
	arena->slots = aligned_alloc(64, size);
	if (!arena->slots)
		return -ENOMEM;
	memset(arena->slots, 0, size);
	for (unsigned int q = 0; q < queues; q++) {
		arena->queue[q] = aligned_alloc(64, (contender->size + 63) / 64 * 64);
		if (!arena->queue[q]) {
			arena_free(arena);
			return -ENOMEM;
		}
		contender->init(arena->queue[q]);
	}
	random_seed(seed);
	add_all(arena, load);
	return 0;
}

void arena_free(struct arena *arena)
{
	for (unsigned int q = 0; q < MAX_QUEUES; q++)
		free(arena->queue[q]);
	free(arena->slots);
	memset(arena, 0, sizeof(*arena));
}

/**
 * arena_round - Do one round
 * @arena:	where
 * @load:	the load with which the arena was filled
 * @round:	what to do
 * @ticks:	what the CPU's counter advanced by in each batch
 */
void arena_round(struct arena *arena, const struct load *load,
		 const struct round *round, u64 *ticks)
{
	const struct contender *contender = arena->contender;
	unsigned int queues = nr_queues(load);
	struct hrtimer *timer[BATCH];
	u64 start;

	for (unsigned int i = 0; i < BATCH; i++)
		timer[i] = timer_at(arena, load, i % queues, round->index[i]);

	start = read_counter();
	contender->dequeue_batch(arena->queue, queues, timer);
	ticks[DEQUEUE] = read_counter() - start;

	for (unsigned int i = 0; i < BATCH; i++)
		arm(timer[i], arena->now[i % queues] + round->delay[0][i],
		    round->level[0][i]);

	start = read_counter();
	contender->enqueue_batch(arena->queue, queues, timer);
	ticks[ENQUEUE] = read_counter() - start;

	start = read_counter();
	contender->query_batch(arena->queue, queues, round->threshold, timer);
	ticks[QUERY] = read_counter() - start;

	start = read_counter();
	contender->pop_batch(arena->queue, queues, timer);
	ticks[POP] = read_counter() - start;

	for (unsigned int i = 0; i < BATCH; i++) {
		arena->now[i % queues] = timer[i]->node.expires;
		arm(timer[i], arena->now[i % queues] + round->delay[1][i],
		    round->level[1][i]);
		contender->add(arena->queue[i % queues], timer[i]);
	}
}

/**
 * arena_serve - Serve all timers of all queues, the highest level first
 * @arena:	where; filled again afterwards
 * @load:	the load with which the arena was filled
 * @ticks:	what the CPU's counter advanced by
 *
 * Return: how many were served.
 */
unsigned int arena_serve(struct arena *arena, const struct load *load, u64 *ticks)
{
	unsigned int queues = nr_queues(load);
	unsigned int served = 0;
	u64 start;

	start = read_counter();
	for (unsigned int q = 0; q < queues; q++)
		served += arena->contender->serve(arena->queue[q]);
	*ticks = read_counter() - start;

	add_all(arena, load);
	return served;
}
