// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long the queue that ships takes, next to stock timerqueue and to what the paper rejected.
 *
 * The load stays the same size: every round removes timers, adds them with a new expiry and level,
 * and asks for the first at or above a level. All contenders do the same rounds and must give the
 * same answers. They take turns every few hundred microseconds, so that whatever else the machine
 * does hits all alike. What timing and serializing cost is subtracted.
 *
 * Usage: bench SAMPLES; prints a table as CSV
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "indexed.h"
#include "queue.h"

/* Rounds that one contender does before the next has its turn */
#define BLOCK		32
/*
 * Operations timed in one go. The counter of many CPUs advances in steps of 10 ns and more, so that
 * one operation cannot be told from its neighbour. One queue has too few timers for that: several
 * share a batch.
 */
#define BATCH		32
/* Expiries lie up to this many ns ahead: far more than there are timers */
#define HORIZON		BIT_ULL(40)

enum operation { NOTHING, DEQUEUE, ENQUEUE, QUERY, NR_OPERATIONS };
static const char *const operation_name[] = { "nothing", "dequeue", "enqueue", "query" };

/**
 * struct contender - a queue under test
 * @name:	in the table
 * @size:	of one queue in bytes
 * @init:	makes an empty queue
 * @add:	queue a timer at its level
 * @del:	remove a timer
 * @first:	the first at or above a level
 */
struct contender {
	const char *name;
	size_t size;
	void (*init)(void *queue);
	void (*add)(void *queue, struct hrtimer *timer);
	void (*del)(void *queue, struct hrtimer *timer);
	struct hrtimer *(*first)(void *queue, u8 level);
};

/* The kernel's lib/timerqueue.c, which knows no levels */
static void stock_init(void *queue)
{
	timerqueue_linked_init_head(queue);
}

static void stock_add(void *queue, struct hrtimer *timer)
{
	timerqueue_linked_add(queue, &timer->node);
}

static void stock_del(void *queue, struct hrtimer *timer)
{
	timerqueue_linked_del(queue, &timer->node);
}

static struct hrtimer *stock_first(void *queue, u8 level)
{
	return container_of(timerqueue_linked_first(queue), struct hrtimer, node);
}

static void shield_init(void *queue)
{
	queue_init(queue);
}

static void shield_add(void *queue, struct hrtimer *timer)
{
	struct hrtimer_cpu_base *cpu_base = queue;

	timer->base = &cpu_base->clock_base[levels_index(timer->level, 0)];
	queue_add(timer);
}

static void shield_del(void *queue, struct hrtimer *timer)
{
	queue_del(timer);
}

static struct hrtimer *shield_first(void *queue, u8 level)
{
	return queue_earliest(queue, level);
}

static const struct contender contenders[] = {
	{ "timerqueue", sizeof(struct timerqueue_linked_head),
	  stock_init, stock_add, stock_del, stock_first },
	{ "timershield", sizeof(struct hrtimer_cpu_base),
	  shield_init, shield_add, shield_del, shield_first },
	{ "indexed", sizeof(struct indexed),
	  indexed_init, indexed_add, indexed_del, indexed_first },
};

#define NR_CONTENDERS	ARRAY_SIZE(contenders)

struct load {
	unsigned int timers;	/* in each queue */
	unsigned int queues;
	bool many_levels;
};

/* One contender under a load */
struct arena {
	const struct contender *contender;
	const struct load *load;
	void *queue[BATCH];
	struct hrtimer *timer[BATCH];	/* an array for each queue */
	struct hrtimer *chosen[BATCH];
	u8 threshold[BATCH];
	ktime_t answer[BATCH];
	double *sample[NR_OPERATIONS];
};

static u64 random_state;

/* splitmix64 */
static u64 random_u64(void)
{
	u64 z = random_state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static u8 random_level(bool many)
{
	return TIMERSHIELD_REALTIME + (many ? random_u64() % (MAX_RT_PRIO - 1) : 50);
}

static void arm(struct hrtimer *timer, const struct load *load)
{
	timer->node.expires = random_u64() % HORIZON;
	timer->level = random_level(load->many_levels);
}

/* Keeps one operation from beginning before the last has ended */
static void serialize(void)
{
#if defined(__x86_64__)
	asm volatile("lfence" ::: "memory");
#else
	asm volatile("dsb sy; isb" ::: "memory");
#endif
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

/* Do a batch of one operation; return how long each takes. */
static double timed(struct arena *arena, enum operation op)
{
	const struct contender *contender = arena->contender;
	struct hrtimer *found[BATCH];
	double start = now_ns();

	for (int i = 0; i < BATCH; i++) {
		void *queue = arena->queue[i % arena->load->queues];

		if (op == DEQUEUE)
			contender->del(queue, arena->chosen[i]);
		else if (op == ENQUEUE)
			contender->add(queue, arena->chosen[i]);
		else if (op == QUERY)
			found[i] = contender->first(queue, arena->threshold[i]);
		serialize();
	}
	start = (now_ns() - start) / BATCH;
	for (int i = 0; op == QUERY && i < BATCH; i++)
		arena->answer[i] = found[i] ? found[i]->node.expires : KTIME_MAX;
	return start;
}

/* The first round of a block warms the caches and is not counted. */
static void run_block(struct arena *arena, unsigned int sample)
{
	const struct load *load = arena->load;

	for (unsigned int round = 0; round <= BLOCK; round++) {
		unsigned int from = random_u64() % load->timers;

		for (int i = 0; i < BATCH; i++) {
			unsigned int nr = (from + i / load->queues) % load->timers;

			arena->chosen[i] = &arena->timer[i % load->queues][nr];
			arena->threshold[i] = random_level(true);
		}
		for (int op = NOTHING; op < NR_OPERATIONS; op++) {
			double ns = timed(arena, op);

			if (round)
				arena->sample[op][sample + round - 1] = ns;
			for (int i = 0; op == DEQUEUE && i < BATCH; i++)
				arm(arena->chosen[i], load);
		}
	}
}

static void fill(struct arena *arena, const struct load *load, unsigned int samples)
{
	const struct contender *contender = arena->contender;

	arena->load = load;
	random_state = 0;
	for (int i = 0; i < load->queues; i++) {
		arena->queue[i] = calloc(1, contender->size);
		arena->timer[i] = calloc(load->timers, sizeof(struct hrtimer));
		contender->init(arena->queue[i]);
		for (unsigned int t = 0; t < load->timers; t++) {
			timerqueue_linked_init(&arena->timer[i][t].node);
			arm(&arena->timer[i][t], load);
			contender->add(arena->queue[i], &arena->timer[i][t]);
		}
	}
	for (int op = 0; op < NR_OPERATIONS; op++)
		arena->sample[op] = calloc(samples, sizeof(double));
}

static void empty(struct arena *arena)
{
	for (int i = 0; i < arena->load->queues; i++) {
		free(arena->queue[i]);
		free(arena->timer[i]);
	}
	for (int op = 0; op < NR_OPERATIONS; op++)
		free(arena->sample[op]);
}

static int compare(const void *_a, const void *_b)
{
	double a = *(const double *)_a, b = *(const double *)_b;

	return (a > b) - (a < b);
}

static double median(double *value, unsigned int count)
{
	qsort(value, count, sizeof(*value), compare);
	return value[count / 2];
}

static void run(unsigned int samples, const struct load *load)
{
	struct arena arenas[NR_CONTENDERS] = { 0 };

	for (int c = 0; c < NR_CONTENDERS; c++) {
		arenas[c].contender = &contenders[c];
		fill(&arenas[c], load, samples);
	}
	for (unsigned int sample = 0; sample < samples; sample += BLOCK) {
		for (int c = 0; c < NR_CONTENDERS; c++) {
			random_state = sample + 1;
			run_block(&arenas[c], sample);
		}
		/* timerqueue alone answers without regard to levels. */
		for (int i = 0; i < BATCH; i++) {
			if (arenas[1].answer[i] != arenas[2].answer[i])
				abort();
		}
	}
	for (int c = 0; c < NR_CONTENDERS; c++) {
		double nothing = median(arenas[c].sample[NOTHING], samples);

		for (int op = DEQUEUE; op < NR_OPERATIONS; op++)
			printf("%s,%u,%s,%s,%.2f\n", operation_name[op], load->timers,
			       load->many_levels ? "many" : "one", contenders[c].name,
			       median(arenas[c].sample[op], samples) - nothing);
		empty(&arenas[c]);
	}
}

int main(int argc, char **argv)
{
	unsigned int blocks = argc == 2 ? (atoi(argv[1]) + BLOCK - 1) / BLOCK : 0;

	if (!blocks) {
		fprintf(stderr, "Usage: bench SAMPLES; prints a table as CSV\n");
		return 2;
	}
	puts("operation,timers,levels,queue,p50_ns");
	for (int many = 0; many < 2; many++) {
		run(blocks * BLOCK, &(struct load){ 1, BATCH, many });
		run(blocks * BLOCK, &(struct load){ 50, 4, many });
	}
	return 0;
}
