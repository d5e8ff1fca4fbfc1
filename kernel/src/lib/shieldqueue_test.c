// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of shieldqueue, as the running kernel's compiler and rbtree have
 * it. The user-space tests go further; these see that nothing got lost on the
 * way into the kernel.
 */

#include <kunit/test.h>
#include <linux/hrtimer_types.h>
#include <linux/ktime.h>
#include <linux/prandom.h>
#include <linux/shieldqueue.h>
#include <linux/timerqueue.h>

#define TIMERS		64
#define OPERATIONS	4000

struct shieldqueue_test {
	struct timerqueue_head head;
	struct rnd_state rnd;
	struct hrtimer timer[TIMERS];
};

static int shieldqueue_test_init(struct kunit *test)
{
	struct shieldqueue_test *t;

	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	timerqueue_init_head(&t->head);
	prandom_seed_state(&t->rnd, 1);
	for (int i = 0; i < TIMERS; i++)
		timerqueue_init(&t->timer[i].node);
	test->priv = t;
	return 0;
}

static struct hrtimer *queue_timer(struct shieldqueue_test *t, int i,
				   ktime_t expires, u8 level)
{
	t->timer[i].node.expires = expires;
	t->timer[i].level = level;
	shieldqueue_add(&t->head, &t->timer[i]);
	return &t->timer[i];
}

static struct hrtimer *next_in_order(struct hrtimer *timer)
{
	return shieldqueue_entry(rb_next(&timer->node.node));
}

static struct hrtimer *first_in_order(struct shieldqueue_test *t)
{
	return shieldqueue_entry(rb_first(&t->head.rb_root.rb_root));
}

static u8 child_level(struct rb_node *child)
{
	return child ? shieldqueue_entry(child)->subtree_level : 0;
}

/* Exact subtree levels, order of expiry, and the cached leftmost timer */
static void check_queue(struct kunit *test)
{
	struct shieldqueue_test *t = test->priv;
	struct hrtimer *timer, *before = NULL;

	KUNIT_ASSERT_PTR_EQ(test, rb_first_cached(&t->head.rb_root),
			    rb_first(&t->head.rb_root.rb_root));
	for (timer = first_in_order(t); timer; timer = next_in_order(timer)) {
		struct rb_node *rb = &timer->node.node;

		KUNIT_ASSERT_EQ(test, timer->subtree_level,
				max3(timer->level, child_level(rb->rb_left),
				     child_level(rb->rb_right)));
		if (before)
			KUNIT_ASSERT_LE(test, before->node.expires,
					timer->node.expires);
		before = timer;
	}
}

/* What the queries must answer, found by looking at every timer */
static void check_answers(struct kunit *test, ktime_t now, u8 threshold)
{
	struct shieldqueue_test *t = test->priv;
	struct hrtimer *found = shieldqueue_first(&t->head, threshold);
	struct hrtimer *highest = NULL;
	struct hrtimer *timer;

	for (timer = first_in_order(t); timer; timer = next_in_order(timer)) {
		if (timer->level < threshold)
			continue;
		KUNIT_ASSERT_PTR_EQ(test, found, timer);
		found = shieldqueue_next(found, threshold);
		if (timer->node.expires <= now &&
		    (!highest || timer->level > highest->level))
			highest = timer;
	}
	KUNIT_ASSERT_NULL(test, found);
	KUNIT_ASSERT_PTR_EQ(test, shieldqueue_highest(&t->head, now, threshold),
			    highest);
}

static void shieldqueue_test_empty(struct kunit *test)
{
	struct shieldqueue_test *t = test->priv;

	KUNIT_EXPECT_NULL(test, shieldqueue_first(&t->head, 0));
	KUNIT_EXPECT_NULL(test, shieldqueue_highest(&t->head, KTIME_MAX, 0));
	shieldqueue_rebuild(&t->head);
}

static void shieldqueue_test_threshold(struct kunit *test)
{
	struct shieldqueue_test *t = test->priv;
	struct hrtimer *low = queue_timer(t, 0, 10, 0);
	struct hrtimer *mid = queue_timer(t, 1, 20, 50);
	struct hrtimer *critical = queue_timer(t, 2, 30, 255);

	KUNIT_EXPECT_PTR_EQ(test, shieldqueue_first(&t->head, 0), low);
	KUNIT_EXPECT_PTR_EQ(test, shieldqueue_first(&t->head, 50), mid);
	KUNIT_EXPECT_PTR_EQ(test, shieldqueue_first(&t->head, 51), critical);
	KUNIT_EXPECT_PTR_EQ(test, shieldqueue_first(&t->head, 255), critical);
	KUNIT_EXPECT_PTR_EQ(test, shieldqueue_next(low, 51), critical);
	KUNIT_EXPECT_NULL(test, shieldqueue_next(critical, 0));
}

static void shieldqueue_test_highest(struct kunit *test)
{
	struct shieldqueue_test *t = test->priv;
	struct hrtimer *low = queue_timer(t, 0, 10, 1);
	struct hrtimer *high = queue_timer(t, 1, 20, 9);

	queue_timer(t, 2, 30, 9);
	queue_timer(t, 3, 40, 200);

	KUNIT_EXPECT_NULL(test, shieldqueue_highest(&t->head, 9, 0));
	KUNIT_EXPECT_PTR_EQ(test, shieldqueue_highest(&t->head, 10, 0), low);
	KUNIT_EXPECT_NULL(test, shieldqueue_highest(&t->head, 10, 2));
	KUNIT_EXPECT_PTR_EQ(test, shieldqueue_highest(&t->head, 39, 0), high);
	KUNIT_EXPECT_NULL(test, shieldqueue_highest(&t->head, 39, 10));
}

static void shieldqueue_test_equal_expiries(struct kunit *test)
{
	struct shieldqueue_test *t = test->priv;
	struct hrtimer *timer;
	int i;

	for (i = 0; i < TIMERS; i++)
		queue_timer(t, i, 10, i % 3);
	i = 0;
	for (timer = shieldqueue_first(&t->head, 0); timer;
	     timer = shieldqueue_next(timer, 0))
		KUNIT_EXPECT_PTR_EQ(test, timer, &t->timer[i++]);
	KUNIT_EXPECT_EQ(test, i, TIMERS);
}

static void shieldqueue_test_return_values(struct kunit *test)
{
	struct shieldqueue_test *t = test->priv;

	t->timer[0].node.expires = 10;
	t->timer[1].node.expires = 20;
	t->timer[2].node.expires = 5;
	KUNIT_EXPECT_TRUE(test, shieldqueue_add(&t->head, &t->timer[0]));
	KUNIT_EXPECT_FALSE(test, shieldqueue_add(&t->head, &t->timer[1]));
	KUNIT_EXPECT_TRUE(test, shieldqueue_add(&t->head, &t->timer[2]));
	KUNIT_EXPECT_TRUE(test, shieldqueue_del(&t->head, &t->timer[0]));
	KUNIT_EXPECT_TRUE(test, shieldqueue_del(&t->head, &t->timer[1]));
	KUNIT_EXPECT_FALSE(test, shieldqueue_del(&t->head, &t->timer[2]));
	KUNIT_EXPECT_FALSE(test, timerqueue_node_queued(&t->timer[2].node));
}

static void shieldqueue_test_set_level(struct kunit *test)
{
	struct shieldqueue_test *t = test->priv;

	for (int i = 0; i < TIMERS; i++)
		queue_timer(t, i, i, i);
	shieldqueue_set_level(&t->head, &t->timer[TIMERS - 1], 0);
	check_queue(test);
	shieldqueue_set_level(&t->head, &t->timer[0], 255);
	check_queue(test);
	KUNIT_EXPECT_PTR_EQ(test, shieldqueue_first(&t->head, 255), &t->timer[0]);
	check_answers(test, TIMERS, TIMERS - 2);
}

/* Off and on again: timerqueue alone uses the tree, then one rebuild. */
static void shieldqueue_test_rebuild(struct kunit *test)
{
	struct shieldqueue_test *t = test->priv;

	for (int i = 0; i < TIMERS; i++) {
		t->timer[i].node.expires = i * 37 % TIMERS;
		t->timer[i].level = i * 11;
		t->timer[i].subtree_level = 77;
		timerqueue_add(&t->head, &t->timer[i].node);
	}
	for (int i = 0; i < TIMERS; i += 5)
		timerqueue_del(&t->head, &t->timer[i].node);
	shieldqueue_rebuild(&t->head);
	check_queue(test);
	for (int threshold = 0; threshold < 256; threshold++)
		check_answers(test, TIMERS / 2, threshold);
}

static void operate_at_random(struct shieldqueue_test *t)
{
	struct hrtimer *timer = &t->timer[prandom_u32_state(&t->rnd) % TIMERS];
	u8 level = prandom_u32_state(&t->rnd);

	if (!timerqueue_node_queued(&timer->node)) {
		timer->node.expires = prandom_u32_state(&t->rnd) % 100;
		timer->level = level;
		shieldqueue_add(&t->head, timer);
	} else if (level % 3) {
		shieldqueue_del(&t->head, timer);
	} else {
		shieldqueue_set_level(&t->head, timer, level);
	}
}

static void shieldqueue_test_random(struct kunit *test)
{
	struct shieldqueue_test *t = test->priv;

	for (int i = 0; i < OPERATIONS; i++) {
		operate_at_random(t);
		check_queue(test);
		check_answers(test, prandom_u32_state(&t->rnd) % 100,
			      prandom_u32_state(&t->rnd));
	}
}

static struct kunit_case shieldqueue_test_cases[] = {
	KUNIT_CASE(shieldqueue_test_empty),
	KUNIT_CASE(shieldqueue_test_threshold),
	KUNIT_CASE(shieldqueue_test_highest),
	KUNIT_CASE(shieldqueue_test_equal_expiries),
	KUNIT_CASE(shieldqueue_test_return_values),
	KUNIT_CASE(shieldqueue_test_set_level),
	KUNIT_CASE(shieldqueue_test_rebuild),
	KUNIT_CASE(shieldqueue_test_random),
	{}
};

static struct kunit_suite shieldqueue_test_suite = {
	.name = "shieldqueue",
	.init = shieldqueue_test_init,
	.test_cases = shieldqueue_test_cases,
};

kunit_test_suite(shieldqueue_test_suite);

MODULE_DESCRIPTION("KUnit tests of the timer queue that can leave out low levels");
MODULE_LICENSE("GPL");
