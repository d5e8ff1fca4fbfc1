// SPDX-License-Identifier: GPL-2.0-only
/*
 * shieldqueue: a timer queue that answers "which timer expires first at or
 * above a level"
 *
 * The invariant, for every timer in the queue:
 *
 *	subtree_level = max(level, left->subtree_level, right->subtree_level)
 *
 * See include/linux/shieldqueue.h for what callers need to know.
 */

#include <linux/bug.h>
#include <linux/minmax.h>
#include <linux/rbtree_augmented.h>
#include <linux/shieldqueue.h>

#define to_timer(_rb)	rb_entry((_rb), struct hrtimer, node.node)

/* Does a timer at or below @rb reach @threshold? */
static inline bool subtree_reaches(struct rb_node *rb, u8 threshold)
{
	return rb && to_timer(rb)->subtree_level >= threshold;
}

static inline u8 subtree_level_of(const struct hrtimer *timer)
{
	const struct rb_node *rb = &timer->node.node;
	u8 level = timer->level;

	if (rb->rb_left)
		level = max(level, to_timer(rb->rb_left)->subtree_level);
	if (rb->rb_right)
		level = max(level, to_timer(rb->rb_right)->subtree_level);
	return level;
}

/*
 * A timer below @rb was removed or lowered: lower the subtree levels from @rb
 * up to, not including, @stop. Above the first that stays as it is, all do.
 */
static inline void lower_subtree_levels(struct rb_node *rb,
					struct rb_node *stop)
{
	while (rb != stop) {
		struct hrtimer *timer = to_timer(rb);
		u8 level;

		/* The usual case, and it needs no look at the children. */
		if (timer->level == timer->subtree_level)
			return;
		level = subtree_level_of(timer);
		if (level == timer->subtree_level)
			return;
		timer->subtree_level = level;
		rb = rb_parent(rb);
	}
}

/* @new takes the place of @old, with the same timers below it */
static inline void copy_subtree_level(struct rb_node *old, struct rb_node *new)
{
	to_timer(new)->subtree_level = to_timer(old)->subtree_level;
}

/* @new was rotated into the place of @old, which is now its child */
static void rotate_subtree_levels(struct rb_node *old, struct rb_node *new)
{
	copy_subtree_level(old, new);
	to_timer(old)->subtree_level = subtree_level_of(to_timer(old));
}

static const struct rb_augment_callbacks subtree_level_callbacks = {
	.propagate	= lower_subtree_levels,
	.copy		= copy_subtree_level,
	.rotate		= rotate_subtree_levels,
};

/**
 * shieldqueue_add - Add a timer to the queue
 * @head:	the queue
 * @timer:	the timer, not queued, with its expiry and level set
 *
 * Timers of equal expiry are kept in the order in which they were added.
 * O(log n), with one walk down the tree.
 *
 * Return: true if the timer is now the earliest of all levels.
 */
bool shieldqueue_add(struct timerqueue_head *head, struct hrtimer *timer)
{
	struct rb_node **link = &head->rb_root.rb_root.rb_node;
	struct rb_node *parent = NULL;
	ktime_t expires = timer->node.expires;
	u8 level = timer->level;
	bool leftmost = true;

	WARN_ON_ONCE(!RB_EMPTY_NODE(&timer->node.node));

	while (*link) {
		struct hrtimer *above;

		parent = *link;
		above = to_timer(parent);
		if (above->subtree_level < level)
			above->subtree_level = level;
		if (expires < above->node.expires) {
			link = &parent->rb_left;
		} else {
			link = &parent->rb_right;
			leftmost = false;
		}
	}

	timer->subtree_level = level;
	rb_link_node(&timer->node.node, parent, link);
	rb_insert_augmented_cached(&timer->node.node, &head->rb_root, leftmost,
				   &subtree_level_callbacks);
	return leftmost;
}

/**
 * shieldqueue_del - Remove a timer from the queue
 * @head:	the queue
 * @timer:	the timer, queued
 *
 * O(log n).
 *
 * Return: true if the queue is not empty afterwards.
 */
bool shieldqueue_del(struct timerqueue_head *head, struct hrtimer *timer)
{
	WARN_ON_ONCE(RB_EMPTY_NODE(&timer->node.node));

	rb_erase_augmented_cached(&timer->node.node, &head->rb_root,
				  &subtree_level_callbacks);
	RB_CLEAR_NODE(&timer->node.node);

	return !RB_EMPTY_ROOT(&head->rb_root.rb_root);
}

/* The earliest timer at or below @rb that reaches @threshold. One must. */
static struct hrtimer *first_in_subtree(struct rb_node *rb, u8 threshold)
{
	for (;;) {
		if (subtree_reaches(rb->rb_left, threshold)) {
			rb = rb->rb_left;
			continue;
		}
		if (to_timer(rb)->level >= threshold)
			return to_timer(rb);
		rb = rb->rb_right;
	}
}

/* shieldqueue_first() for when the earliest timer of all is not eligible */
struct hrtimer *__shieldqueue_first(struct timerqueue_head *head, u8 threshold)
{
	struct rb_node *root = head->rb_root.rb_root.rb_node;

	if (!subtree_reaches(root, threshold))
		return NULL;
	return first_in_subtree(root, threshold);
}

/**
 * shieldqueue_next - The next timer at or above a level
 * @timer:	a queued timer, of any level
 * @threshold:	the lowest level that counts
 *
 * With shieldqueue_first() it visits the eligible timers in the order of
 * their expiry. O(log n).
 *
 * Return: the first after @timer that reaches @threshold, or NULL.
 */
struct hrtimer *shieldqueue_next(struct hrtimer *timer, u8 threshold)
{
	struct rb_node *rb = &timer->node.node;
	struct rb_node *parent;

	if (subtree_reaches(rb->rb_right, threshold))
		return first_in_subtree(rb->rb_right, threshold);

	for (; (parent = rb_parent(rb)); rb = parent) {
		if (rb == parent->rb_right)
			continue;
		if (to_timer(parent)->level >= threshold)
			return to_timer(parent);
		if (subtree_reaches(parent->rb_right, threshold))
			return first_in_subtree(parent->rb_right, threshold);
	}
	return NULL;
}

/*
 * shieldqueue_highest() for when at least one timer has expired
 *
 * Walk down along the border between expired and not yet expired. Whatever
 * lies left of the way has expired; it is met in the order of expiry, so the
 * earliest of the highest level is in the first part that has that level.
 */
struct hrtimer *__shieldqueue_highest(struct timerqueue_head *head,
				      ktime_t now, u8 threshold)
{
	struct rb_node *rb = head->rb_root.rb_root.rb_node;
	struct rb_node *best = NULL;
	/* What a part must exceed: an int, since threshold 0 gives -1 */
	int level = (int)threshold - 1;
	bool in_subtree = false;

	while (rb && to_timer(rb)->subtree_level > level) {
		struct hrtimer *timer = to_timer(rb);
		struct rb_node *left = rb->rb_left;

		if (timer->node.expires > now) {
			rb = left;
			continue;
		}
		if (left && to_timer(left)->subtree_level > level) {
			level = to_timer(left)->subtree_level;
			best = left;
			in_subtree = true;
		}
		if (timer->level > level) {
			level = timer->level;
			best = rb;
			in_subtree = false;
		}
		rb = rb->rb_right;
	}

	if (!best)
		return NULL;
	return in_subtree ? first_in_subtree(best, level) : to_timer(best);
}

/**
 * shieldqueue_set_level - Change the level of a queued timer
 * @head:	the queue
 * @timer:	the timer, queued
 * @level:	its new level
 *
 * The timer keeps its place among equal expiries. O(log n).
 */
void shieldqueue_set_level(struct timerqueue_head *head, struct hrtimer *timer,
			   u8 level)
{
	struct rb_node *rb = &timer->node.node;

	WARN_ON_ONCE(RB_EMPTY_NODE(rb));

	timer->level = level;
	for (; rb && to_timer(rb)->subtree_level < level; rb = rb_parent(rb))
		to_timer(rb)->subtree_level = level;
	lower_subtree_levels(&timer->node.node, NULL);
}

/**
 * shieldqueue_rebuild - Make a queue filled by timerqueue_add() a shieldqueue
 * @head:	the queue, in which every timer's level is set
 *
 * O(n).
 */
void shieldqueue_rebuild(struct timerqueue_head *head)
{
	struct rb_node *rb = rb_first_postorder(&head->rb_root.rb_root);

	for (; rb; rb = rb_next_postorder(rb))
		to_timer(rb)->subtree_level = subtree_level_of(to_timer(rb));
}
