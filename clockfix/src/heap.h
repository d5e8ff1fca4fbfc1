/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * heap.h - jobs that the worker itself keeps: periodic ones and those submitted by jobs
 *
 * A leftist heap threaded through the slots: nothing to allocate, and no operation takes more
 * than 2 * log2(n) steps, whatever went before. Ordered by instant, then order of submission.
 */
#ifndef CLOCKFIX_HEAP_H
#define CLOCKFIX_HEAP_H

#include "slots.h"

struct heap {
	uint32_t top;		/* SLOT_NONE: empty */
	uint32_t count;
	struct slots *slots;
};

void heap_init(struct heap *heap, struct slots *slots);
void heap_add(struct heap *heap, uint32_t i);	/* slot's due is set */
void heap_remove(struct heap *heap, uint32_t i);

#endif
