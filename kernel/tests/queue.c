// SPDX-License-Identifier: GPL-2.0-only
/*
 * The shipped queue against the plainest queue there is: an array in the order of expiry and,
 * among equal expiries, of arrival.
 *
 * Usage: queue [SEED]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/rbtree_augmented.h>

#include "queue.h"

#define MODEL_MAX	512

#define expect(_condition)							\
	do {									\
		if (!(_condition)) {						\
			fprintf(stderr, "%s:%d: seed %u: expected %s\n",	\
				__FILE__, __LINE__, seed, #_condition);		\
			exit(1);						\
		}								\
	} while (0)

struct model {
	struct hrtimer *timer[MODEL_MAX];
	unsigned int count;
};

static unsigned int seed = 1;
static struct hrtimer timers[MODEL_MAX];

static void model_add(struct model *model, struct hrtimer *timer)
{
	unsigned int i = model->count++;

	for (; i && model->timer[i - 1]->node.expires > timer->node.expires; i--)
		model->timer[i] = model->timer[i - 1];
	model->timer[i] = timer;
}

static void model_del(struct model *model, struct hrtimer *timer)
{
	unsigned int i = 0;

	while (model->timer[i] != timer)
		i++;
	memmove(&model->timer[i], &model->timer[i + 1],
		(--model->count - i) * sizeof(model->timer[0]));
}

static struct hrtimer *model_first(const struct model *model, u8 level)
{
	for (unsigned int i = 0; i < model->count; i++) {
		if (model->timer[i]->level >= level)
			return model->timer[i];
	}
	return NULL;
}

static struct hrtimer *model_due(const struct model *model, u8 level, ktime_t now)
{
	struct hrtimer *due = NULL;

	for (unsigned int i = 0; i < model->count; i++) {
		struct hrtimer *timer = model->timer[i];

		if (timer->node.expires <= now && timer->level >= level &&
		    (!due || timer->level > due->level))
			due = timer;
	}
	return due;
}

/* Each inner node of the minima is the earlier of its children. A leaf may be too early. */
static void check_minima(struct hrtimer_cpu_base *base)
{
	const struct timershield_minima *minima = &base->minima;

	for (unsigned int i = 1; i < TIMERSHIELD_LEVELS; i++)
		expect(minima->first[i] == min(minima->first[2 * i], minima->first[2 * i + 1]));
	for (u8 level = TIMERSHIELD_REALTIME; level <= TIMERSHIELD_DEADLINE; level++) {
		ktime_t expires;

		levels_base(base, level, &expires);
		expect(minima_of(minima, level) <= expires);
	}
}

static ktime_t expiry(const struct hrtimer *timer)
{
	return timer ? timer->node.expires : KTIME_MAX;
}

/* Of timers of equal expiry and different levels any may be the first. */
static void check(struct hrtimer_cpu_base *base, const struct model *model, u8 level, ktime_t now)
{
	struct hrtimer *first;

	check_minima(base);
	expect(queue_due(base, now) == model_due(model, 0, now));
	first = queue_earliest(base, level);
	expect(expiry(first) == expiry(model_first(model, level)));
	expect(!first || first->level >= level);
	check_minima(base);
}

static void add(struct hrtimer_cpu_base *base, struct model *model, struct hrtimer *timer,
		ktime_t expires, u8 level)
{
	timer->base = &base->clock_base[levels_index(level, 0)];
	timer->node.expires = expires;
	timer->level = levels_of(timer->base->index);
	queue_add(timer);
	model_add(model, timer);
	expect(timer->level == level);
}

static void del(struct model *model, struct hrtimer *timer)
{
	model_del(model, timer);
	queue_del(timer);
}

static void relevel(struct hrtimer_cpu_base *base, struct model *model, struct hrtimer *timer,
		    u8 level)
{
	del(model, timer);
	add(base, model, timer, timer->node.expires, level);
}

static void reset(void)
{
	memset(timers, 0, sizeof(timers));
	for (unsigned int i = 0; i < MODEL_MAX; i++)
		timerqueue_linked_init(&timers[i].node);
}

static void check_all(struct hrtimer_cpu_base *base, const struct model *model)
{
	for (ktime_t now = -1; now < 3; now++) {
		for (u8 level = 0; level <= 5; level++)
			check(base, model, level, now);
	}
}

/* Every queue of up to four timers, three expiries and levels, each removed or changed */
static void every_small_queue(void)
{
	for (unsigned int count = 1, queues = 9; count <= 4; count++, queues *= 9) {
		for (unsigned int which = 0; which < queues * count * 4; which++) {
			struct hrtimer_cpu_base base;
			struct model model = { 0 };
			unsigned int rest = which / (count * 4), change = which % 4;
			struct hrtimer *timer = &timers[which / 4 % count];

			queue_init(&base);
			for (unsigned int i = 0; i < count; i++, rest /= 9)
				add(&base, &model, &timers[i], rest % 3,
				    TIMERSHIELD_REALTIME + rest / 3 % 3);
			if (change)
				relevel(&base, &model, timer, TIMERSHIELD_ORDINARY + change);
			else
				del(&model, timer);
			check_all(&base, &model);
			reset();
		}
	}
}

static void random_operations(unsigned int count, unsigned int operations, unsigned int expiries,
			      unsigned int levels)
{
	struct hrtimer_cpu_base base;
	struct model model = { 0 };

	queue_init(&base);
	for (unsigned int i = 0; i < operations; i++) {
		struct hrtimer *timer = &timers[rand() % count];
		ktime_t expires = rand() % 64 ? rand() % expiries : INT64_MAX;
		u8 level = TIMERSHIELD_REALTIME + rand() % levels;

		if (RB_EMPTY_NODE(&timer->node.node.node))
			add(&base, &model, timer, expires, level);
		else if (rand() % 3)
			del(&model, timer);
		else
			relevel(&base, &model, timer, level);
		check(&base, &model, rand() % (levels + 3), rand() % expiries);
	}
	reset();
}

static void random_queues(void)
{
	static const unsigned int counts[] = { 1, 2, 8, 64, MODEL_MAX };
	static const unsigned int expiries[] = { 1, 4, 10000 }, levels[] = { 1, 3, 100 };

	for (unsigned int i = 0; i < 5 * 3 * 3; i++)
		random_operations(counts[i % 5], 2000, expiries[i / 5 % 3], levels[i / 15]);
}

/* By CLOCK_MONOTONIC the timers of another clock expire earlier or later when that is set. */
static void set_clocks(void)
{
	struct hrtimer_cpu_base base;

	queue_init(&base);
	for (unsigned int i = 0; i < 64; i++) {
		u8 level = TIMERSHIELD_DEADLINE - rand() % 8;

		timers[i].base = &base.clock_base[levels_index(level, rand() % TIMERSHIELD_CLOCKS)];
		timers[i].node.expires = rand() % 1000;
		queue_add(&timers[i]);
	}
	for (unsigned int n = 0; n < 1000; n++) {
		ktime_t now = rand() % 1000, first = KTIME_MAX, oldest = KTIME_MAX;
		struct hrtimer_clock_base *earliest, *highest;
		u8 level = 0;

		base.clock_base[1 + n % 3].offset = rand() % 1000 - 500;
		levels_clock_set(&base);
		check_minima(&base);
		for (unsigned int i = 0; i < 64; i++) {
			const struct hrtimer_clock_base *of = timers[i].base;
			ktime_t expires = timers[i].node.expires -
					  base.clock_base[of->index % TIMERSHIELD_CLOCKS].offset;

			first = min(first, expires);
			if (expires > now || levels_of(of->index) < level)
				continue;
			if (levels_of(of->index) > level || expires < oldest)
				oldest = expires;
			level = levels_of(of->index);
		}
		earliest = levels_earliest(&base, TIMERSHIELD_ORDINARY);
		expect(levels_expires(earliest) == first);
		highest = levels_highest(&base, now);
		expect(!highest == !level);
		expect(!highest || (levels_of(highest->index) == level &&
				    levels_expires(highest) == oldest));
	}
	reset();
}

int main(int argc, char **argv)
{
	if (argc > 1)
		seed = strtoul(argv[1], NULL, 10);
	srand(seed);
	reset();
	every_small_queue();
	puts("ok     every queue of up to four timers");
	random_queues();
	puts("ok     random operations on up to 512 timers");
	set_clocks();
	puts("ok     clocks that are set");
	puts("3 passed, 0 failed");
	return 0;
}
