// SPDX-License-Identifier: GPL-2.0-only

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <linux/rbtree_augmented.h>
#include <linux/shieldqueue.h>

#include "invariants.h"

void fail_at(const char *file, int line, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s:%d: ", file, line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}

struct subtree {
	int black_height;
	int level;
};

static struct subtree check_subtree(struct rb_node *rb, struct rb_node *parent)
{
	struct subtree left, right, all;
	struct hrtimer *timer;

	if (!rb)
		return (struct subtree) { .black_height = 0, .level = -1 };

	timer = shieldqueue_entry(rb);
	expect(rb_parent(rb) == parent);
	if (rb_is_red(rb))
		expect(parent && rb_is_black(parent));

	left = check_subtree(rb->rb_left, rb);
	right = check_subtree(rb->rb_right, rb);
	expect(left.black_height == right.black_height);

	all.black_height = left.black_height + !!rb_is_black(rb);
	all.level = timer->level;
	if (left.level > all.level)
		all.level = left.level;
	if (right.level > all.level)
		all.level = right.level;
	if (timer->subtree_level != all.level)
		fail("subtree level is %u, should be %d", timer->subtree_level,
		     all.level);
	return all;
}

void check_queue(const struct timerqueue_head *head, const struct model *model)
{
	struct rb_node *rb = rb_first(&head->rb_root.rb_root);

	expect(head->rb_root.rb_leftmost == rb);
	check_subtree(head->rb_root.rb_root.rb_node, NULL);
	for (unsigned int i = 0; i < model->count; i++, rb = rb_next(rb)) {
		if (shieldqueue_entry(rb) != model->timer[i])
			fail("timer %u of %u is missing or in the wrong place",
			     i, model->count);
	}
	expect(!rb);
}

/* Is there another expired timer besides the first eligible one? */
static void check_expired_after(struct timerqueue_head *head, const struct model *model,
				ktime_t now, u8 threshold)
{
	struct hrtimer *first = model_first(model, threshold);
	bool other;

	if (!first)
		return;
	other = model->count > 1 && model->timer[1]->_softexpires <= now;
	expect(shieldqueue_expired_after(head, first, now) ==
	       (first != model->timer[0] || other));
}

void check_answers(struct timerqueue_head *head, const struct model *model,
		   ktime_t now, u8 threshold)
{
	expect(shieldqueue_first(head, threshold) ==
	       model_first(model, threshold));
	expect(shieldqueue_highest(head, now, threshold) ==
	       model_highest(model, now, threshold));
	check_expired_after(head, model, now, threshold);
}
