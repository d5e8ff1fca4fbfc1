// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of TimerShield's levels: whose timer it is, and who outranks whom
 */
#include <kunit/test.h>
#include <linux/hrtimer.h>
#include <linux/sched.h>
#include <linux/timershield.h>

#include "timershield_internal.h"

/* A task as far as its level is concerned */
static struct task_struct *a_task(struct kunit *test, int policy, int prio)
{
	struct task_struct *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	p->policy = policy;
	p->prio = prio;
	timershield_set_task_level(p);
	return p;
}

static struct task_struct *an_rt_task(struct kunit *test, int policy, int priority)
{
	return a_task(test, policy, MAX_RT_PRIO - 1 - priority);
}

static void every_rt_priority_has_its_own_level(struct kunit *test)
{
	int priority;
	u8 below = TIMERSHIELD_LEVEL_FAIR;

	for (priority = 1; priority < MAX_RT_PRIO; priority++) {
		u8 fifo = timershield_task_level(an_rt_task(test, SCHED_FIFO, priority));
		u8 rr = timershield_task_level(an_rt_task(test, SCHED_RR, priority));

		KUNIT_EXPECT_EQ(test, fifo, 2 + priority);
		KUNIT_EXPECT_EQ(test, fifo, rr);
		KUNIT_EXPECT_GT(test, fifo, below);
		below = fifo;
	}
	KUNIT_EXPECT_LT(test, below, TIMERSHIELD_LEVEL_DEADLINE);
}

static void deadline_ranks_above_rt_and_below_critical(struct kunit *test)
{
	u8 level = timershield_task_level(a_task(test, SCHED_DEADLINE, MAX_DL_PRIO - 1));

	KUNIT_EXPECT_EQ(test, level, TIMERSHIELD_LEVEL_DEADLINE);
	KUNIT_EXPECT_GT(test, level, timershield_task_level(an_rt_task(test, SCHED_FIFO, 99)));
	KUNIT_EXPECT_LT(test, level, TIMERSHIELD_LEVEL_CRITICAL);
}

static void nice_values_share_a_level(struct kunit *test)
{
	int nice;

	for (nice = MIN_NICE; nice <= MAX_NICE; nice++) {
		u8 level = timershield_task_level(a_task(test, SCHED_NORMAL, NICE_TO_PRIO(nice)));
		u8 batch = timershield_task_level(a_task(test, SCHED_BATCH, NICE_TO_PRIO(nice)));

		KUNIT_EXPECT_EQ(test, level, TIMERSHIELD_LEVEL_FAIR);
		KUNIT_EXPECT_EQ(test, batch, TIMERSHIELD_LEVEL_FAIR);
	}
}

static void sched_idle_ranks_below_fair_and_above_nothing(struct kunit *test)
{
	u8 level = timershield_task_level(a_task(test, SCHED_IDLE, NICE_TO_PRIO(0)));

	KUNIT_EXPECT_LT(test, level, TIMERSHIELD_LEVEL_FAIR);
	KUNIT_EXPECT_GT(test, level, TIMERSHIELD_LEVEL_NONE);
}

static void a_boosted_task_has_the_level_of_its_effective_priority(struct kunit *test)
{
	struct task_struct *p = a_task(test, SCHED_NORMAL, NICE_TO_PRIO(0));

	p->prio = MAX_RT_PRIO - 1 - 90;
	timershield_set_task_level(p);
	KUNIT_EXPECT_EQ(test, timershield_task_level(p), 92);
}

static void an_idle_task_outranks_nothing(struct kunit *test)
{
	struct task_struct *p = a_task(test, SCHED_NORMAL, NICE_TO_PRIO(0));

	timershield_set_idle_level(p);
	KUNIT_EXPECT_EQ(test, timershield_task_level(p), TIMERSHIELD_LEVEL_NONE);
}

static void a_timer_without_owner_is_critical(struct kunit *test)
{
	struct hrtimer timer;

	hrtimer_init_on_stack(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	KUNIT_EXPECT_EQ(test, timershield_timer_level(&timer), TIMERSHIELD_LEVEL_CRITICAL);
	destroy_hrtimer_on_stack(&timer);
}

static void a_timer_armed_for_a_task_keeps_its_level(struct kunit *test)
{
	struct task_struct *p = an_rt_task(test, SCHED_FIFO, 40);
	struct hrtimer timer;

	hrtimer_init_on_stack(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	timershield_own(&timer, timershield_task_level(p));
	p->prio = MAX_RT_PRIO - 1 - 50;
	timershield_set_task_level(p);
	KUNIT_EXPECT_EQ(test, timershield_timer_level(&timer), 42);
	destroy_hrtimer_on_stack(&timer);
}

static void a_sleeper_has_the_level_of_its_task(struct kunit *test)
{
	struct task_struct *p = an_rt_task(test, SCHED_FIFO, 40);
	struct hrtimer_sleeper sl;

	hrtimer_init_sleeper_on_stack(&sl, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	sl.sleeper = p;
	KUNIT_EXPECT_EQ(test, timershield_timer_level(&sl.timer), 42);
	p->prio = MAX_RT_PRIO - 1 - 50;
	timershield_set_task_level(p);
	KUNIT_EXPECT_EQ(test, timershield_timer_level(&sl.timer), 52);
	/* It has been woken, and may start the timer again. */
	sl.task = NULL;
	KUNIT_EXPECT_EQ(test, timershield_timer_level(&sl.timer), 52);
	destroy_hrtimer_on_stack(&sl.timer);
}

static struct kunit_case timershield_test_cases[] = {
	KUNIT_CASE(every_rt_priority_has_its_own_level),
	KUNIT_CASE(deadline_ranks_above_rt_and_below_critical),
	KUNIT_CASE(nice_values_share_a_level),
	KUNIT_CASE(sched_idle_ranks_below_fair_and_above_nothing),
	KUNIT_CASE(a_boosted_task_has_the_level_of_its_effective_priority),
	KUNIT_CASE(an_idle_task_outranks_nothing),
	KUNIT_CASE(a_timer_without_owner_is_critical),
	KUNIT_CASE(a_timer_armed_for_a_task_keeps_its_level),
	KUNIT_CASE(a_sleeper_has_the_level_of_its_task),
	{}
};

static struct kunit_suite timershield_test_suite = {
	.name = "timershield",
	.test_cases = timershield_test_cases,
};

kunit_test_suite(timershield_test_suite);
