// SPDX-License-Identifier: GPL-2.0-only
/*
 * shieldqueue as one writes it with the templates of rbtree_augmented.h: what
 * the hand-written callbacks and the update during the descent are worth.
 */

#include <linux/rbtree_augmented.h>
#include <linux/shieldqueue.h>

#include "contender.h"

static inline u8 level_of(struct hrtimer *timer)
{
	return timer->level;
}

RB_DECLARE_CALLBACKS_MAX(static, textbook_callbacks, struct hrtimer, node.node,
			 u8, subtree_level, level_of)

static bool expires_before(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct hrtimer, node.node)->node.expires <
	       rb_entry(b, struct hrtimer, node.node)->node.expires;
}

static void textbook_init(void *queue)
{
	timerqueue_init_head(queue);
}

static bool textbook_add(void *queue, struct hrtimer *timer)
{
	struct timerqueue_head *head = queue;

	timer->subtree_level = timer->level;
	return rb_add_augmented_cached(&timer->node.node, &head->rb_root,
				       expires_before, &textbook_callbacks);
}

static bool textbook_del(void *queue, struct hrtimer *timer)
{
	struct timerqueue_head *head = queue;

	rb_erase_augmented_cached(&timer->node.node, &head->rb_root,
				  &textbook_callbacks);
	RB_CLEAR_NODE(&timer->node.node);
	return !RB_EMPTY_ROOT(&head->rb_root.rb_root);
}

static struct hrtimer *textbook_first(void *queue, u8 threshold)
{
	return shieldqueue_first(queue, threshold);
}

static struct hrtimer *textbook_highest(void *queue, ktime_t now, u8 threshold)
{
	return shieldqueue_highest(queue, now, threshold);
}

#define PREFIX	textbook
#include "batches.h"

const struct contender textbook_contender = {
	.name		= "textbook",
	.what		= "the same with the templates of rbtree_augmented.h",
	.size		= sizeof(struct timerqueue_head),
	.levels		= true,
	.level_offset	= offsetof(struct hrtimer, level),
	CONTENDER_FUNCTIONS,
};
