// SPDX-License-Identifier: GPL-2.0-only
/* What include/linux/shieldqueue.h promises, one promise a case */

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <linux/kernel.h>
#include <linux/shieldqueue.h>
#include <linux/timerqueue.h>

#include "invariants.h"
#include "runner.h"

#define TIMERS	8

static struct timerqueue_head head = { .rb_root = RB_ROOT_CACHED };
static struct hrtimer timer[TIMERS];
static struct model model;

/* Where to go on a warning; without it, a warning is a failure. */
static jmp_buf *expected_warning;

void kernel_warned(const char *file, int line)
{
	if (expected_warning)
		longjmp(*expected_warning, 1);
	fail("the queue warned at %s:%d", file, line);
}

static bool queue(unsigned int i, ktime_t expires, u8 level)
{
	bool earliest;

	if (!timer[i].node.node.__rb_parent_color)
		timerqueue_init(&timer[i].node);
	timer[i].node.expires = expires;
	timer[i].level = level;
	earliest = shieldqueue_add(&head, &timer[i]);
	model_add(&model, &timer[i]);
	check_queue(&head, &model);
	return earliest;
}

static void empty_queue(void)
{
	check_answers(&head, &model, INT64_MAX, 0);
	shieldqueue_rebuild(&head);
	check_queue(&head, &model);
}

static void threshold_zero_leaves_out_nothing(void)
{
	queue(0, 10, 0);
	expect(shieldqueue_first(&head, 0) == &timer[0]);
	expect(shieldqueue_highest(&head, 10, 0) == &timer[0]);
	expect(!shieldqueue_first(&head, 1));
}

static void critical_is_never_left_out(void)
{
	queue(0, 10, 254);
	queue(1, 20, 255);
	expect(shieldqueue_first(&head, 255) == &timer[1]);
	expect(shieldqueue_first(&head, 254) == &timer[0]);
}

static void threshold_is_inclusive(void)
{
	queue(0, 10, 50);
	expect(shieldqueue_first(&head, 50) == &timer[0]);
	expect(!shieldqueue_first(&head, 51));
}

static void expiry_is_inclusive(void)
{
	queue(0, 10, 50);
	expect(!shieldqueue_highest(&head, 9, 0));
	expect(shieldqueue_highest(&head, 10, 0) == &timer[0]);
}

static void equal_expiries_in_order_of_arrival(void)
{
	expect(queue(0, 10, 1));
	expect(!queue(1, 10, 2));
	expect(!queue(2, 10, 2));
	expect(shieldqueue_first(&head, 0) == &timer[0]);
	expect(shieldqueue_first(&head, 2) == &timer[1]);
	expect(shieldqueue_next(&timer[1], 2) == &timer[2]);
	expect(!shieldqueue_next(&timer[2], 0));
}

static void highest_before_earliest(void)
{
	queue(0, 10, 1);
	queue(1, 20, 9);
	queue(2, 30, 9);
	queue(3, 40, 200);
	expect(shieldqueue_highest(&head, 35, 0) == &timer[1]);
	expect(shieldqueue_highest(&head, 40, 0) == &timer[3]);
	expect(!shieldqueue_highest(&head, 35, 10));
}

/* A masked timer that expired long ago must not stand in the way. */
static void expired_low_level_does_not_hide_high_level(void)
{
	for (unsigned int i = 0; i < 6; i++)
		queue(i, i, 1);
	queue(6, 100, 99);
	expect(!shieldqueue_highest(&head, 50, 99));
	expect(shieldqueue_first(&head, 99) == &timer[6]);
	expect(shieldqueue_highest(&head, 100, 99) == &timer[6]);
}

static void add_and_del_tell_about_the_queue(void)
{
	expect(queue(0, 10, 5));
	expect(!queue(1, 20, 9));
	expect(queue(2, 5, 1));
	expect(shieldqueue_del(&head, &timer[0]));
	expect(shieldqueue_del(&head, &timer[1]));
	expect(!shieldqueue_del(&head, &timer[2]));
	expect(RB_EMPTY_NODE(&timer[2].node.node));
}

static void set_level_keeps_the_order(void)
{
	for (unsigned int i = 0; i < TIMERS; i++)
		queue(i, 10, i);
	shieldqueue_set_level(&head, &timer[7], 0);
	check_queue(&head, &model);
	shieldqueue_set_level(&head, &timer[0], 255);
	check_queue(&head, &model);
	expect(shieldqueue_first(&head, 7) == &timer[0]);
}

/* Off: timerqueue alone uses the tree. On again: one rebuild. */
static void rebuild_after_timerqueue(void)
{
	for (unsigned int i = 0; i < TIMERS; i++) {
		timerqueue_init(&timer[i].node);
		timer[i].node.expires = 100 - i;
		timer[i].level = 3 * i;
		timer[i].subtree_level = 77;
		timerqueue_add(&head, &timer[i].node);
		model_add(&model, &timer[i]);
	}
	timerqueue_del(&head, &timer[3].node);
	model_del(&model, &timer[3]);
	shieldqueue_rebuild(&head);
	check_queue(&head, &model);
	for (int threshold = 0; threshold < 256; threshold++)
		check_answers(&head, &model, 97, threshold);
}

/* Reading with timerqueue's functions works at any time. */
static void timerqueue_reads_a_shieldqueue(void)
{
	struct timerqueue_node *node;
	unsigned int i = 0;

	for (i = 0; i < TIMERS; i++)
		queue(i, i * 7 % 5, i);
	i = 0;
	for (node = timerqueue_getnext(&head); node;
	     node = timerqueue_iterate_next(node))
		expect(node == &model.timer[i++]->node);
	expect(i == TIMERS);
}

static void adding_twice_warns(void)
{
	jmp_buf here;

	queue(0, 10, 1);
	expected_warning = &here;
	if (!setjmp(here)) {
		shieldqueue_add(&head, &timer[0]);
		fail("no warning");
	}
	check_queue(&head, &model);
}

static void deleting_what_is_not_queued_warns(void)
{
	jmp_buf here;

	queue(0, 10, 1);
	timerqueue_init(&timer[1].node);
	expected_warning = &here;
	if (!setjmp(here)) {
		shieldqueue_del(&head, &timer[1]);
		fail("no warning");
	}
	check_queue(&head, &model);
}

static void changing_what_is_not_queued_warns(void)
{
	jmp_buf here;

	queue(0, 10, 1);
	timerqueue_init(&timer[1].node);
	expected_warning = &here;
	if (!setjmp(here)) {
		shieldqueue_set_level(&head, &timer[1], 7);
		fail("no warning");
	}
	check_queue(&head, &model);
}

/*
 * Every queue of up to five timers with three expiries and three levels, and
 * every timer removed from it, or changed to every level.
 */
static void all_small_queues(void)
{
	static const int choices = 9;
	unsigned int codes = 1;

	for (unsigned int n = 1; n <= 5; n++) {
		codes *= choices;
		for (unsigned int code = 0; code < codes * n * 4; code++) {
			unsigned int rest = code / (n * 4);
			unsigned int victim = code / 4 % n;

			head = (struct timerqueue_head) { .rb_root = RB_ROOT_CACHED };
			model.count = 0;
			for (unsigned int i = 0; i < n; i++, rest /= choices) {
				timerqueue_init(&timer[i].node);
				timer[i].node.expires = rest % 3;
				timer[i].level = rest / 3 % 3;
				shieldqueue_add(&head, &timer[i]);
				model_add(&model, &timer[i]);
			}
			if (code % 4 < 3) {
				shieldqueue_set_level(&head, &timer[victim], code % 4);
			} else {
				shieldqueue_del(&head, &timer[victim]);
				model_del(&model, &timer[victim]);
			}
			check_queue(&head, &model);
			for (int threshold = 0; threshold < 4; threshold++)
				check_answers(&head, &model, code % 4, threshold);
		}
	}
}

int main(void)
{
	static const struct test_case cases[] = {
		{ "an empty queue", empty_queue },
		{ "threshold 0 leaves out nothing", threshold_zero_leaves_out_nothing },
		{ "level 255 is never left out", critical_is_never_left_out },
		{ "a level at the threshold counts", threshold_is_inclusive },
		{ "a timer that expires now has expired", expiry_is_inclusive },
		{ "equal expiries keep the order of arrival",
		  equal_expiries_in_order_of_arrival },
		{ "the highest level is served before the earliest expiry",
		  highest_before_earliest },
		{ "an expired timer of low level hides none of high level",
		  expired_low_level_does_not_hide_high_level },
		{ "add and del tell about the queue", add_and_del_tell_about_the_queue },
		{ "set_level keeps the order", set_level_keeps_the_order },
		{ "rebuild after timerqueue's functions", rebuild_after_timerqueue },
		{ "timerqueue's functions read it", timerqueue_reads_a_shieldqueue },
		{ "adding twice warns and changes nothing", adding_twice_warns },
		{ "deleting what is not queued warns and changes nothing",
		  deleting_what_is_not_queued_warns },
		{ "set_level of what is not queued warns and changes nothing",
		  changing_what_is_not_queued_warns },
		{ "all queues of up to five timers", all_small_queues },
		{ 0 }
	};

	return run_tests("unit", cases);
}
