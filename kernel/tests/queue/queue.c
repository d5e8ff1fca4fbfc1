// SPDX-License-Identifier: GPL-2.0-only
/*
 * The shipped queue, and the benchmark's others, against the plainest queue there is: an
 * array in the order of expiry and, among equal expiries, of arrival.
 *
 * Usage: queue [SEED]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/rbtree_augmented.h>

#include "../bench/contender.h"
#include "../bench/shield.h"

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

/* Red-black rules; returns the black height. */
static int check_subtree(struct rb_node *rb, struct rb_node *parent)
{
	int left, right;

	if (!rb)
		return 0;
	expect(rb_parent(rb) == parent);
	expect(to_hrtimer(rb)->queued_level == to_hrtimer(rb)->level);
	expect(!rb_is_red(rb) || (parent && rb_is_black(parent)));
	left = check_subtree(rb->rb_left, rb);
	right = check_subtree(rb->rb_right, rb);
	expect(left == right);
	return left + !!rb_is_black(rb);
}

/* Each inner node of the minima is the earlier of its children. */
static void check_minima(const struct timershield_minima *minima)
{
	for (unsigned int i = 1; i < TIMERSHIELD_LEVELS; i++)
		expect(minima->first[i] == min(minima->first[2 * i], minima->first[2 * i + 1]));
}

static ktime_t expiry(const struct hrtimer *timer)
{
	return timer ? timer->node.expires : KTIME_MAX;
}

/* Of timers of equal expiry and different levels any may be the first. */
static void check(struct hrtimer_cpu_base *base, const struct model *model, u8 level, ktime_t now)
{
	struct hrtimer_levels *levels = &base->levels;
	struct hrtimer *first = shield_earliest(levels, level);

	for (unsigned int l = TIMERSHIELD_ORDINARY; l <= TIMERSHIELD_DEADLINE; l++) {
		struct rb_root_cached *queue = &levels->queue[l][0];
		struct rb_node *rb = rb_first(&queue->rb_root);

		expect(queue->rb_leftmost == rb);
		expect(!!(levels->clocks[l] & BIT(0)) == !!rb);
		check_subtree(queue->rb_root.rb_node, NULL);
		for (unsigned int i = 0; i < model->count; i++) {
			if (model->timer[i]->level != l)
				continue;
			expect(rb == &model->timer[i]->HRTIMER_RB);
			rb = rb_next(rb);
		}
		expect(!rb);
	}
	check_minima(&levels->minima);
	expect(expiry(first) == expiry(model_first(model, level)));
	expect(!first || first->level >= level);
	expect(minima_from(&levels->minima, level) == expiry(first));
	expect(shield_due(levels, now) == model_due(model, 0, now));
}

static void add(struct hrtimer_cpu_base *base, struct model *model, struct hrtimer *timer,
		ktime_t expires, u8 level)
{
	timer->base = base->clock_base;
	timer->node.expires = expires;
	timer->_softexpires = expires;
	timer->level = level;
	levels_add(&base->levels, timer, level);
	model_add(model, timer);
}

static void del(struct hrtimer_cpu_base *base, struct model *model, struct hrtimer *timer)
{
	model_del(model, timer);
	levels_del(&base->levels, timer);
	expect(RB_EMPTY_NODE(&timer->HRTIMER_RB) && !timer->queued_level);
}

static void relevel(struct hrtimer_cpu_base *base, struct model *model, struct hrtimer *timer,
		    u8 level)
{
	ktime_t expires = timer->node.expires;

	del(base, model, timer);
	add(base, model, timer, expires, level);
}

static void reset(void)
{
	memset(timers, 0, sizeof(timers));
	for (unsigned int i = 0; i < MODEL_MAX; i++)
		RB_CLEAR_NODE(&timers[i].HRTIMER_RB);
}

static void check_all(struct hrtimer_cpu_base *base, const struct model *model)
{
	for (ktime_t now = -1; now < 3; now++) {
		for (u8 level = 0; level <= 4; level++)
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

			shield_init(&base);
			for (unsigned int i = 0; i < count; i++, rest /= 9)
				add(&base, &model, &timers[i], rest % 3, 1 + rest / 3 % 3);
			if (change)
				relevel(&base, &model, timer, change);
			else
				del(&base, &model, timer);
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

	shield_init(&base);
	for (unsigned int i = 0; i < operations; i++) {
		struct hrtimer *timer = &timers[rand() % count];
		ktime_t expires = rand() % 64 ? rand() % expiries : INT64_MAX;
		u8 level = 1 + rand() % levels;

		if (RB_EMPTY_NODE(&timer->HRTIMER_RB))
			add(&base, &model, timer, expires, level);
		else if (rand() % 3)
			del(&base, &model, timer);
		else
			relevel(&base, &model, timer, level);
		check(&base, &model, rand() % (levels + 2), rand() % expiries);
	}
	reset();
}

static void random_queues(void)
{
	static const unsigned int counts[] = { 1, 2, 8, 64, MODEL_MAX };

	for (unsigned int i = 0; i < 5 * 3 * 3; i++)
		random_operations(counts[i % 5], 2000, (unsigned int[]){ 1, 4, 10000 }[i / 5 % 3],
				  (unsigned int[]){ 1, 3, 100 }[i / 15]);
}

/* By CLOCK_MONOTONIC the timers of another clock expire earlier or later when that is set. */
static void set_clocks(void)
{
	struct hrtimer_cpu_base base;

	shield_init(&base);
	for (unsigned int i = 0; i < TIMERSHIELD_CLOCKS; i++)
		base.clock_base[i].index = i;
	for (unsigned int i = 0; i < 64; i++) {
		timers[i].base = &base.clock_base[rand() % TIMERSHIELD_CLOCKS];
		timers[i].node.expires = rand() % 1000;
		levels_add(&base.levels, &timers[i], TIMERSHIELD_REALTIME + rand() % 8);
	}
	for (unsigned int n = 0; n < 1000; n++) {
		ktime_t first[TIMERSHIELD_DEADLINE + 1];

		base.clock_base[1 + n % 3].offset = rand() % 1000 - 500;
		levels_clock_set(&base);
		for (unsigned int l = 0; l <= TIMERSHIELD_DEADLINE; l++)
			first[l] = KTIME_MAX;
		for (unsigned int i = 0; i < 64; i++)
			first[timers[i].queued_level] = min(first[timers[i].queued_level],
							    levels_expires(&timers[i]));
		for (unsigned int l = 1; l <= TIMERSHIELD_DEADLINE; l++)
			expect(minima_of(&base.levels.minima, l) == first[l]);
		check_minima(&base.levels.minima);
	}
	reset();
}

/* What the benchmark compares with must be right, too; it may choose among equals. */
static void rival(const struct contender *contender)
{
	void *queue = aligned_alloc(64, (contender->size + 63) / 64 * 64);
	struct model model = { 0 };

	contender->init(queue);
	for (unsigned int i = 0; i < 60000; i++) {
		struct hrtimer *timer = &timers[rand() % 40], *found, *expected;
		u8 level = contender->levels ? rand() % MAX_LEVELS : 0;
		ktime_t now = rand() % 1000;

		if (!RB_EMPTY_NODE(&timer->HRTIMER_RB)) {
			model_del(&model, timer);
			expect(contender->del(queue, timer) == !!model.count);
		} else {
			timer->node.expires = timer->_softexpires = rand() % 1000;
			timer->level = 1 + rand() % (MAX_LEVELS - 1);
			contender->add(queue, timer);
			model_add(&model, timer);
		}
		found = contender->first(queue, level);
		expected = model_first(&model, level);
		expect(!found == !expected);
		expect(!found || found->node.expires == expected->node.expires);
		if (!contender->levels)
			continue;
		found = contender->highest(queue, now, level);
		expected = model_due(&model, level, now);
		expect(!found == !expected);
		expect(!found || found->level == expected->level);
	}
	free(queue);
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
	for (size_t c = 0; c < nr_contenders; c++) {
		rival(contenders[c]);
		printf("ok     %s, random operations\n", contenders[c]->name);
	}
	printf("%zu passed, 0 failed\n", 3 + nr_contenders);
	return 0;
}
