// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * protocol.c - the list's protocol under a weak memory model, for GenMC
 *
 * list.c of the library as it is, one submitter, and the worker as worker.c has it. GenMC tries
 * every execution that C11 (RC11, or IMM: what compilers and arm64 may make of it) allows. The
 * submitter's history is chosen by -DHISTORY=. In the end each job has run exactly once, or never
 * if its cancellation said so.
 */
#include <assert.h>
#include <pthread.h>

#include "list.c"

#define JOBS 3
#define SLOTS 4

static struct slot memory[SLOTS];
static struct slots slots;
static struct list list;
static struct tree_nodes nodes;
static int runs[JOBS], cancelled[JOBS];
/* what was freed last is used first: the worst for whoever still looks at it */
static uint32_t slot_of[JOBS], free_slot[SLOTS], free_count;

/* ---- what list.c needs of slots.c and tree.c, in a few steps ------------------------------ */

/* field by field: GenMC 0.10 does not digest copies of structures */
static int64_t sorted_instant[SLOTS];
static uint32_t sorted_slot[SLOTS];
static int count;

uint32_t slot_get(struct slots *s)
{
	uint32_t i = free_slot[--free_count];
	struct slot *slot = slot_at(s, i);
	uint64_t state = atomic_load_explicit(&slot->state, memory_order_relaxed);

	atomic_store(&slot->state, state_of(state_generation(state) + 1, PHASE_FREE));
	return i;
}

void slot_put(struct slots *s, uint32_t i)
{
	(void)s;
	free_slot[free_count++] = i;
}

void tree_init(struct tree *tree, struct tree_nodes *n)
{
	(void)tree;
	(void)n;
}

uint32_t tree_add(struct tree *tree, struct tree_key key, uint32_t slot)
{
	int at = count++;

	(void)tree;
	for (; at && sorted_instant[at - 1] > key.instant; at--) {
		sorted_instant[at] = sorted_instant[at - 1];
		sorted_slot[at] = sorted_slot[at - 1];
	}
	sorted_instant[at] = key.instant;
	sorted_slot[at] = slot;
	return at ? sorted_slot[at - 1] : SLOT_NONE;
}

uint32_t tree_remove(struct tree *tree, struct tree_key key)
{
	int at = 0;

	(void)tree;
	while (sorted_instant[at] != key.instant)
		at++;
	count--;
	for (int i = at; i < count; i++) {
		sorted_instant[i] = sorted_instant[i + 1];
		sorted_slot[i] = sorted_slot[i + 1];
	}
	return at ? sorted_slot[at - 1] : SLOT_NONE;
}

/* ---- the submitter ------------------------------------------------------------------------ */

static void submit(int n, int64_t instant)
{
	uint32_t i = slot_get(&slots);
	struct slot *slot = slot_at(&slots, i);
	uint64_t state = atomic_load_explicit(&slot->state, memory_order_relaxed);

	atomic_store_explicit(&slot->instant, instant, memory_order_release);
	atomic_store_explicit(&slot->seq, (uint64_t)n, memory_order_release);
	atomic_store_explicit(&slot->arg, (void *)(intptr_t)n, memory_order_release);
	atomic_store_explicit(&slot->passed, false, memory_order_release);
	atomic_store(&slot->state, state_of(state_generation(state), PHASE_PENDING));
	slot_of[n] = i;
	list_add(&list, i);
}

static void clean(void)
{
	uint32_t i = list_clean(&list);

	if (i != SLOT_NONE)
		slot_put(&slots, i);
}

static void cancel(int n)
{
	struct slot *slot = slot_at(&slots, slot_of[n]);
	uint64_t state = atomic_load(&slot->state);

	if (state_phase(state) != PHASE_PENDING)
		return;
	if (!atomic_compare_exchange_strong(&slot->state, &state,
					    state_of(state_generation(state), PHASE_CANCELLED)))
		return;
	cancelled[n] = 1;
	list_remove(&list, slot_of[n]);
	slot_put(&slots, slot_of[n]);
}

static void *submitter(void *arg)
{
#if HISTORY == 1
	submit(1, 20);
	clean();
	submit(2, 30);
#elif HISTORY == 2
	cancel(0);
	submit(1, 20);
	submit(2, 5);
#elif HISTORY == 3
	submit(1, 5);
	cancel(0);
	submit(2, 7);
#endif
	return arg;
}

/* ---- the worker --------------------------------------------------------------------------- */

static bool pass(void)
{
	uint64_t work = list_work(&list), state;
	uint32_t i = work_slot(work);
	struct slot *slot = slot_at(&slots, i);
	intptr_t n;

	if (i == list.dummy)
		return false;
	state = atomic_load(&slot->state);
	if (slot_finished(slot)) {
		list_out(&list, work);
		return true;
	}
	if (state_phase(state) != PHASE_PENDING)
		return true;
	n = (intptr_t)atomic_load_explicit(&slot->arg, memory_order_acquire);
	if (list_work(&list) != work ||
	    !atomic_compare_exchange_strong(&slot->state, &state,
					    state_of(state_generation(state), PHASE_RUNNING)))
		return true;
	runs[n]++;
#ifdef DEFECT_PASSED_BEFORE_DONE
	atomic_store(&slot->passed, true);
	atomic_store(&slot->state, state_of(state_generation(state), PHASE_DONE));
#else
	atomic_store(&slot->state, state_of(state_generation(state), PHASE_DONE));
	atomic_store(&slot->passed, true);
#endif
	list_out(&list, work);
	return true;
}

static void *worker(void *arg)
{
	for (int i = 0; i < TURNS; i++)
		pass();
	return arg;
}

int main(void)
{
	pthread_t threads[2];

	atomic_store(&slots.chunk[0], &memory[0]);
	for (uint32_t i = 0; i < SLOTS; i++)
		slot_put(&slots, i);
	list_init(&list, &slots, &nodes);
	submit(0, 10);
	pthread_create(&threads[0], NULL, submitter, NULL);
	pthread_create(&threads[1], NULL, worker, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	/* a job that is lost must not look like a loop that does not end */
	for (int i = 0; i < 2 * JOBS + 2; i++)
		pass();
	for (int n = 0; n < JOBS; n++)
		assert(runs[n] + cancelled[n] == 1);
	return 0;
}
