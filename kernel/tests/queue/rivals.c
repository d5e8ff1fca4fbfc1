// SPDX-License-Identifier: GPL-2.0-only
/* What the benchmark compares with must be right, too. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bench/contender.h"
#include "invariants.h"
#include "runner.h"

#define TIMERS		40
#define OPERATIONS	60000

void kernel_warned(const char *file, int line)
{
	fail("a queue warned at %s:%d", file, line);
}

static u8 level_in(const struct contender *contender, struct hrtimer *timer)
{
	return ((u8 *)timer)[contender->level_offset];
}

/* Rivals may choose among equals: compare what they found, not which. */
static void expect_alike(const struct contender *contender,
			 struct hrtimer *found, struct hrtimer *expected,
			 u8 threshold)
{
	expect(!found == !expected);
	if (!found)
		return;
	expect(found->node.expires == expected->node.expires);
	expect(!contender->levels || level_in(contender, found) >= threshold);
}

static void compare(const struct contender *contender, void *queue,
		    const struct model *model)
{
	u8 threshold = contender->levels ? rand() % MAX_LEVELS : 0;
	ktime_t now = rand() % 1000;
	struct hrtimer *found, *expected;

	expect_alike(contender, contender->first(queue, threshold),
		     model_first(model, threshold), threshold);
	if (!contender->levels)
		return;
	found = contender->highest(queue, now, threshold);
	expected = model_highest(model, now, threshold);
	expect_alike(contender, found, expected, threshold);
	expect(!found || level_in(contender, found) == expected->level);
}

/*
 * The model reads the level where struct hrtimer has it; a contender with
 * another layout reads its own.
 */
static void set_level(const struct contender *contender,
		      struct hrtimer *timer, u8 level)
{
	((u8 *)timer)[contender->level_offset] = level;
	timer->level = level;
}

static void operate_at_random(const struct contender *contender)
{
	static struct bench_timer timer[TIMERS];
	void *queue = aligned_alloc(64, (contender->size + 63) / 64 * 64);
	struct model model = { 0 };

	expect(queue);
	contender->init(queue);
	for (unsigned int i = 0; i < TIMERS; i++)
		timerqueue_init(&timer[i].timer.node);
	for (unsigned int i = 0; i < OPERATIONS; i++) {
		struct hrtimer *t = &timer[rand() % TIMERS].timer;

		if (timerqueue_node_queued(&t->node)) {
			expect(contender->del(queue, t) == (model.count > 1));
			model_del(&model, t);
		} else {
			t->node.expires = rand() % 1000;
			set_level(contender, t, rand() % MAX_LEVELS);
			contender->add(queue, t);
			model_add(&model, t);
		}
		compare(contender, queue, &model);
	}
	free(queue);
}

static unsigned int current;

static void run_current(void)
{
	operate_at_random(contenders[current]);
}

int main(void)
{
	int failed = 0;

	for (current = 0; current < nr_contenders; current++) {
		const struct test_case cases[] = {
			{ contenders[current]->name, run_current },
			{ 0 }
		};

		failed |= run_tests("rivals", cases);
	}
	return failed;
}
