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
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/rbtree_augmented.h>
#include <linux/shieldqueue.h>
#include <linux/stddef.h>

#define to_timer(_rb)	rb_entry((_rb), struct hrtimer, node.node)

/*
 * What a queue costs is, for the most part, branches that nobody can predict.
 * So which child exists when levels are compared, and to which the way leads
 * when a timer is added, is computed, and only the end of a loop is a branch.
 * OPTIMIZER_HIDE_VAR() keeps the compiler from turning it into branches again.
 * Queries do branch: their way leads to the left as a rule, and the CPU gains
 * by going ahead.
 */

/* Stands in for a missing child; its subtree level stays 0 */
static const struct hrtimer nobody;

/* Does a timer at or below @rb reach @threshold? */
static inline bool subtree_reaches(struct rb_node *rb, u8 threshold)
{
	return rb && to_timer(rb)->subtree_level >= threshold;
}

/* Recompute the subtree level of the timer at @rb from its children's. */
static inline void update_subtree_level(struct rb_node *rb)
{
	const struct rb_node *none = &nobody.node.node;
	const struct rb_node *left, *right;
	struct hrtimer *timer = to_timer(rb);
	u8 below;

	OPTIMIZER_HIDE_VAR(none);
	left = rb->rb_left ?: none;
	right = rb->rb_right ?: none;
	below = max(to_timer(left)->subtree_level,
		    to_timer(right)->subtree_level);
	timer->subtree_level = max(timer->level, below);
}

/*
 * A timer of level @gone has left the subtree of @rb and those above it. Lower
 * their subtree levels, up to and not including @stop. It ends where the timer
 * was not the highest, for then it is not the highest further up.
 */
static inline void lower_subtree_levels(struct rb_node *rb,
					struct rb_node *stop, u8 gone)
{
	for (; rb != stop; rb = rb_parent(rb)) {
		struct hrtimer *timer = to_timer(rb);

		if (timer->subtree_level != gone || timer->level == gone)
			return;
		update_subtree_level(rb);
	}
}

/*
 * rb_erase_augmented() calls this twice: for the way from the old place of the
 * erased timer's successor up to its new one, and with no @successor for all
 * that lies above. The latter shieldqueue_del() does itself, as it knows the
 * level that is gone.
 */
static inline void successor_moved(struct rb_node *rb,
				   struct rb_node *successor)
{
	if (successor)
		lower_subtree_levels(rb, successor, to_timer(successor)->level);
}

/* @new takes the place of @old */
static inline void copy_subtree_level(struct rb_node *old, struct rb_node *new)
{
	to_timer(new)->subtree_level = to_timer(old)->subtree_level;
}

/* @new was rotated into the place of @old, which is now its child. */
static void rotate_subtree_levels(struct rb_node *old, struct rb_node *new)
{
	copy_subtree_level(old, new);
	update_subtree_level(old);
}

static const struct rb_augment_callbacks subtree_level_callbacks = {
	.propagate	= successor_moved,
	.copy		= copy_subtree_level,
	.rotate		= rotate_subtree_levels,
};

/* The link to the left child if @left, else to the right one */
static inline struct rb_node **child_link(struct rb_node *rb, unsigned long left)
{
	static_assert(offsetof(struct rb_node, rb_left) ==
		      offsetof(struct rb_node, rb_right) + sizeof(rb));

	return (struct rb_node **)((char *)rb +
				   offsetof(struct rb_node, rb_right) +
				   left * sizeof(rb));
}

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
		unsigned long before;

		parent = *link;
		above = to_timer(parent);
		above->subtree_level = max(above->subtree_level, level);
		before = expires < above->node.expires;
		OPTIMIZER_HIDE_VAR(before);
		leftmost &= before;
		link = child_link(parent, before);
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
	struct rb_root *root = &head->rb_root.rb_root;
	struct rb_node *rb = &timer->node.node;
	struct rb_node *changed, *rebalance;

	WARN_ON_ONCE(RB_EMPTY_NODE(rb));

	if (head->rb_root.rb_leftmost == rb)
		head->rb_root.rb_leftmost = shieldqueue_second(rb);

	/* rb_erase_augmented(), with the subtree levels above in between */
	changed = rb_parent(rb);
	rebalance = __rb_erase_augmented(rb, root, &subtree_level_callbacks);
	if (rb->rb_left && rb->rb_right)
		changed = rb_parent(rb->rb_left);	/* the successor */
	lower_subtree_levels(changed, NULL, timer->level);
	if (rebalance)
		__rb_erase_color(rebalance, root, rotate_subtree_levels);
	RB_CLEAR_NODE(rb);

	return !RB_EMPTY_ROOT(root);
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
 * Of the timers that expire at @now or before, the earliest of the highest
 * level, if that is above @level.
 *
 * Walk down along the border between expired and not yet expired. Whatever
 * lies left of the way has expired; it is met in the order of expiry, so the
 * earliest of the highest level is in the first part that has that level.
 */
static struct hrtimer *highest_above(struct rb_node *rb, ktime_t now, int level)
{
	struct rb_node *best = NULL;
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

	if (in_subtree)
		return first_in_subtree(best, level);
	return best ? to_timer(best) : NULL;
}

/* shieldqueue_highest() for when at least the earliest timer has expired */
struct hrtimer *__shieldqueue_highest(struct timerqueue_head *head,
				      ktime_t now, u8 threshold)
{
	struct rb_node *root = head->rb_root.rb_root.rb_node;
	struct rb_node *leftmost = head->rb_root.rb_leftmost;
	struct hrtimer *first = to_timer(leftmost);
	struct rb_node *second;

	if (!subtree_reaches(root, threshold))
		return NULL;
	if (first->level == to_timer(root)->subtree_level)
		return first;

	/* As a rule nothing else has expired. */
	second = shieldqueue_second(leftmost);
	if (!second || to_timer(second)->node.expires > now)
		return first->level >= threshold ? first : NULL;

	return highest_above(root, now, (int)threshold - 1);
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
	u8 old = timer->level;

	WARN_ON_ONCE(RB_EMPTY_NODE(rb));

	timer->level = level;
	for (; rb && to_timer(rb)->subtree_level < level; rb = rb_parent(rb))
		to_timer(rb)->subtree_level = level;
	if (level < old)
		lower_subtree_levels(&timer->node.node, NULL, old);
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
		update_subtree_level(rb);
}
