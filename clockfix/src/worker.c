// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * worker.c - the worker: wait for the earliest job, run it [III.f]
 *
 * It neither locks, allocates nor frees, and it never waits for a submitter. Its turn begins
 * anew if the earliest job has changed; each of its steps takes a bounded number of its own
 * instructions whatever submitters do.
 */
#include <platform.h>

#include "state.h"

/* the earliest job */
struct pick {
	uint32_t i;			/* SLOT_NONE: there is none */
	bool own;			/* from the worker's tree, else from the list */
	uint64_t work;			/* of the list, if from there */
	uint64_t state;
	uint64_t seq;
	int64_t instant;
};

#define RELEASE_PER_SUBMISSION 2
#define COLLECT_PER_TURN 64	/* slots: some us */
#define COLLECT_AHEAD	 100000	/* ns: with that much time left the next turn can begin */

/* ---- slots the worker is through with --------------------------------------------------- */

/* A queue to submitters: its last slot stays there until another comes. */
static void hand_over(struct clockfix *timer, uint32_t i)
{
	struct slot *last = slot_at(&timer->slots, timer->handed_last);

	atomic_store_explicit(&slot_at(&timer->slots, i)->handed, SLOT_NONE,
			      memory_order_relaxed);
	timer->handed_last = i;
	atomic_store_explicit(&last->handed, i, memory_order_release);
}

/* ---- jobs it keeps itself --------------------------------------------------------------- */

static void own_add(struct clockfix *timer, uint32_t i)
{
	struct slot *slot = slot_at(&timer->slots, i);

	atomic_store_explicit(&slot->own.instant, slot->due, memory_order_relaxed);
	tree_add(&timer->own, i);
	slot->kept = true;
}

static void own_remove(struct clockfix *timer, uint32_t i)
{
	tree_remove(&timer->own, i);
	slot_at(&timer->slots, i)->kept = false;
}

/* A job that was the worker's own, and is in its tree no more, is over. */
static void retire(struct clockfix *timer, uint32_t i)
{
	struct slot *slot = slot_at(&timer->slots, i);

	if (!(atomic_load_explicit(&slot->kind, memory_order_relaxed) & KIND_RESERVED))
		hand_over(timer, i);
	else if (atomic_load_explicit(&slot->release, memory_order_relaxed))
		slot_push(&timer->slots, &timer->worn, i);
	else
		slot_push(&timer->slots, &timer->reserve, i);
}

/* The worker's own jobs that submitters have cancelled. Returns whether some are left. */
static bool collect(struct clockfix *timer)
{
	for (int n = 0; n < COLLECT_PER_TURN; n++) {
		uint32_t i = slot_pop(&timer->slots, &timer->litter_left);

		if (i == SLOT_NONE) {
			if (atomic_load_explicit(&timer->litter, memory_order_relaxed) == SLOT_NONE)
				return false;
			timer->litter_left = atomic_exchange(&timer->litter, SLOT_NONE);
			continue;
		}
		if (slot_at(&timer->slots, i)->kept)
			own_remove(timer, i);
		retire(timer, i);
	}
	return true;
}

static void count_ended(struct clockfix *timer)
{
	atomic_store(&timer->worker_ended, timer->worker_ended + 1);
	timer_note_ended(timer);
}

/* ---- finding the earliest --------------------------------------------------------------- */

/* a timer that ends does not run periodic jobs again */
static bool drop_periodic(struct clockfix *timer, struct slot *slot, uint64_t state)
{
	if (!atomic_load_explicit(&timer->dead, memory_order_relaxed) || !is_periodic(slot))
		return false;
	if (atomic_compare_exchange_strong(&slot->state, &state,
					   state_of(state_generation(state), PHASE_CANCELLED)))
		count_ended(timer);
	return true;
}

static void look_into_list(struct clockfix *timer, struct pick *pick)
{
	struct list *list = &timer->list;
	struct slot *slot;

	for (;;) {
		pick->work = list_work(list);
		pick->i = work_slot(pick->work);
		slot = slot_at(&timer->slots, pick->i);
		pick->state = atomic_load(&slot->state);
		pick->instant = atomic_load_explicit(&slot->listed.instant, memory_order_acquire);
		pick->seq = atomic_load_explicit(&slot->seq, memory_order_acquire);
		if (pick->i == list->dummy) {
			pick->i = SLOT_NONE;
			return;
		}
		if (slot_finished(slot)) {
			list_out(list, pick->work);
			continue;
		}
		/* the slot was reused since @work was read: @work has changed then */
		if (state_phase(pick->state) != PHASE_PENDING)
			continue;
		if (!drop_periodic(timer, slot, pick->state))
			return;
	}
}

static void look_into_own(struct clockfix *timer, struct pick *pick)
{
	struct slot *slot;

	for (;;) {
		pick->i = tree_first(&timer->own);
		if (pick->i == SLOT_NONE)
			return;
		slot = slot_at(&timer->slots, pick->i);
		pick->state = atomic_load(&slot->state);
		if (state_phase(pick->state) == PHASE_PENDING) {
			if (!drop_periodic(timer, slot, pick->state))
				break;
			own_remove(timer, pick->i);
			retire(timer, pick->i);
		} else {
			/* cancelled: it comes to collect() */
			own_remove(timer, pick->i);
		}
	}
	pick->instant = slot->due;
	pick->seq = atomic_load_explicit(&slot->seq, memory_order_relaxed);
}

static struct pick earliest(struct clockfix *timer)
{
	struct pick listed = { .own = false }, own = { .own = true };

	look_into_list(timer, &listed);
	look_into_own(timer, &own);
	if (listed.i == SLOT_NONE || (own.i != SLOT_NONE &&
				      (own.instant < listed.instant ||
				       (own.instant == listed.instant && own.seq < listed.seq))))
		return own;
	return listed;
}

/* ---- periodic jobs ---------------------------------------------------------------------- */

/* On by @n periods; false if the job has fewer instants, or time ends before. */
static bool advance(struct slot *slot, uint64_t n)
{
	int64_t period = atomic_load_explicit(&slot->period, memory_order_relaxed);
	uint64_t runs = atomic_load_explicit(&slot->runs, memory_order_relaxed);
	int64_t step, next;

	if (runs && n >= runs - slot->index)
		return false;
	if (__builtin_mul_overflow(period, n, &step) ||
	    __builtin_add_overflow(slot->due, step, &next) || next == INT64_MAX)
		return false;
	slot->due = next;
	slot->index += n;
	return true;
}

/* the most of @n that advance() can do */
static uint64_t clip(const struct slot *slot, uint64_t n)
{
	uint64_t runs = atomic_load_explicit(&slot->runs, memory_order_relaxed);

	return runs && n > runs - 1 - slot->index ? runs - 1 - slot->index : n;
}

/*
 * How a periodic job deals with instants that have passed. Corrects @run and moves the job to the
 * last instant that is dealt with; returns whether to run at all.
 */
static bool deal_with_missed(struct clockfix *timer, struct slot *slot, int64_t late,
			     struct clockfix_run *run)
{
	int64_t period = atomic_load_explicit(&slot->period, memory_order_relaxed);
	uint64_t behind = clip(slot, late / period);

	if (!behind)
		return true;
	advance(slot, behind);
	/* of a period that is shorter than a turn all instants would be skipped: not twice in a row */
	if (!slot->missed) {
		stat_add(&timer->stats.missed, behind + 1);
		slot->missed = behind < UINT32_MAX ? behind + 1 : UINT32_MAX;
		return false;
	}
	stat_add(&timer->stats.missed, behind);
	run->missed += behind;
	run->instant = slot->due;
	run->index = slot->index;
	return true;
}

/* ---- running ---------------------------------------------------------------------------- */

/* Back into the tree for its next instant, unless that was the last or it was cancelled. */
static bool rearm(struct clockfix *timer, const struct pick *pick, struct slot *slot)
{
	uint64_t running = state_of(state_generation(pick->state), PHASE_RUNNING);

	if (!is_periodic(slot) || !advance(slot, 1))
		return false;
	if (!atomic_compare_exchange_strong(&slot->state, &running, pick->state))
		return false;
	own_add(timer, pick->i);
	return true;
}

/* A job for once, from the list: as soon as it has passed its slot may become another job's. */
static void finish_once(struct clockfix *timer, const struct pick *pick, struct slot *slot)
{
	atomic_store(&slot->state, state_of(state_generation(pick->state), PHASE_DONE));
	atomic_store(&slot->passed, true);
	list_out(&timer->list, pick->work);
	count_ended(timer);
}

/* All others: their slots are the worker's until it retires them. */
static void finish(struct clockfix *timer, const struct pick *pick, struct slot *slot)
{
	/* before it is PENDING again: a submitter that sees that knows it is not in the list */
	atomic_store(&slot->passed, true);
	if (!pick->own) {
		list_out(&timer->list, pick->work);
	} else {
		/* not before its run: that would take time when there is none */
		own_remove(timer, pick->i);
	}
	if (rearm(timer, pick, slot))
		return;
	atomic_store(&slot->state, state_of(state_generation(pick->state), PHASE_DONE));
	/* before it is counted: who drains then finds it */
	retire(timer, pick->i);
	count_ended(timer);
}

/*
 * Take the job before its instant, when less than 5 us are left: afterwards nothing
 * stands between the clock and the job.
 */
static bool claim(struct clockfix *timer, const struct pick *pick, struct slot *slot,
		  uint32_t count)
{
	uint64_t state = pick->state;

	if (atomic_load(&timer->wake.count) != count)
		return false;
	if (!pick->own && list_work(&timer->list) != pick->work)
		return false;
	if (!atomic_compare_exchange_strong(&slot->state, &state,
					    state_of(state_generation(state), PHASE_RUNNING)))
		return false;
	if (!pick->own && is_periodic(slot)) {
		slot->due = pick->instant;
		slot->index = 0;
	}
	return true;
}

/* Give it back, as it is not the earliest any more; false if it is being cancelled. */
static bool unclaim(const struct pick *pick, struct slot *slot)
{
	uint64_t running = state_of(state_generation(pick->state), PHASE_RUNNING);

	return atomic_compare_exchange_strong(&slot->state, &running, pick->state);
}

/*
 * The last 5 us. False: the job was given back. One that is being cancelled can't be:
 * who cancelled it was told that it is running, so it does, though another has become earlier.
 */
static bool arrive(struct clockfix *timer, const struct pick *pick, struct slot *slot,
		   uint32_t count)
{
	if (waiter_arrive(&timer->waiter, pick->instant, &timer->wake, count)) {
		if (unclaim(pick, slot))
			return false;
		waiter_arrive(&timer->waiter, pick->instant, NULL, 0);
	}
	return true;
}

/* A CPU that comes out of sleep has its caches cold: fetch what the job begins with. */
static inline void prefetch_job(const struct clockfix *timer, const struct slot *slot,
				clockfix_fn fn, const void *arg)
{
	uint8_t module = atomic_load_explicit(&slot->module, memory_order_acquire);
	const char *code = (const char *)(uintptr_t)fn;

	__builtin_prefetch(code);
	__builtin_prefetch(code + 64);
	__builtin_prefetch(code + 128);
	__builtin_prefetch(arg);
	if (module)
		module_fetch(&timer->module[module - 1]);
}

static void run(struct clockfix *timer, const struct pick *pick, uint32_t count)
{
	struct slot *slot = slot_at(&timer->slots, pick->i);
	clockfix_fn fn = atomic_load_explicit(&slot->fn, memory_order_acquire);
	void *arg = atomic_load_explicit(&slot->arg, memory_order_acquire);
	bool periodic = is_periodic(slot);
	int64_t late_limit = INT64_MAX;
	bool run = true;
	struct clockfix_run info = {
		.instant = pick->instant,
		.job = slot_job(pick->i, pick->state),
		.timer = timer,
	};

	if (!claim(timer, pick, slot, count))
		return;
	if (periodic) {
		late_limit = atomic_load_explicit(&slot->period, memory_order_relaxed);
		info.missed = slot->missed;
		info.index = slot->index;
	}
	prefetch_job(timer, slot, fn, arg);
	if (!arrive(timer, pick, slot, count))
		return;

	info.started = timer->waiter.started;
	if (__builtin_expect(info.started - pick->instant >= late_limit, 0))
		run = deal_with_missed(timer, slot, info.started - pick->instant, &info);
	if (run) {
		fn(arg, &info);
		if (periodic)
			slot->missed = 0;
		waiter_ran(&timer->waiter, pick->instant);
	}
	if (pick->own || periodic)
		finish(timer, pick, slot);
	else
		finish_once(timer, pick, slot);
}

bool worker_turn(struct clockfix *timer)
{
	uint32_t count = atomic_load(&timer->wake.count);
	struct pick pick;
	bool more;

	/* the child of a job that forked has come back from it: it has no business here */
	if (atomic_load_explicit(&timer->drop, memory_order_relaxed) || timer_check(timer))
		return false;
	more = collect(timer);
	pick = earliest(timer);
	if (more && (pick.i == SLOT_NONE ||
		     pick.instant > pf_mono() + COLLECT_AHEAD))
		return true;
	if (pick.i == SLOT_NONE) {
		/* what was submitted before the end has changed the count before */
		if (atomic_load(&timer->dead))
			return atomic_load(&timer->wake.count) != count;
		wake_wait(&timer->wake, count);
		return true;
	}
	if (!waiter_approach(&timer->waiter, pick.instant, &timer->wake, count))
		run(timer, &pick, count);
	return true;
}

/* ---- for jobs --------------------------------------------------------------------------- */

/* More than one, so that they become less. What it calls may submit a job as well. */
static void release_worn(struct clockfix *timer)
{
	for (int n = 0; n < RELEASE_PER_SUBMISSION && timer->worn != SLOT_NONE; n++) {
		uint32_t i = slot_pop(&timer->slots, &timer->worn);

		slot_release(slot_at(&timer->slots, i));
		slot_push(&timer->slots, &timer->reserve, i);
	}
}

int worker_submit(struct clockfix *timer, const struct clockfix_spec *spec, clockfix_job *job)
{
	struct slot *slot;
	uint32_t generation, i;

	release_worn(timer);
	i = slot_pop(&timer->slots, &timer->reserve);
	if (i == SLOT_NONE)
		return -ENOMEM;
	slot = slot_at(&timer->slots, i);
	generation = slot_renew(slot);
	slot_fill(timer, slot, spec);
	atomic_store_explicit(&slot->kind, slot->kind | KIND_RESERVED, memory_order_relaxed);
	atomic_store(&slot->passed, true);
	slot->due = spec->start;
	slot->index = 0;
	if (job)
		*job = slot_job(i, state_of(generation, PHASE_FREE));
	atomic_store(&timer->worker_added, timer->worker_added + 1);
	atomic_store(&slot->state, state_of(generation, PHASE_PENDING));
	own_add(timer, i);
	return 0;
}

int worker_cancel(struct clockfix *timer, clockfix_job job)
{
	int ret = slot_cancel(&timer->slots, job, PHASE_DROPPED);
	uint32_t i = job;
	struct slot *slot;

	if (ret)
		return ret;
	slot = slot_at(&timer->slots, i);
	slot_release(slot);
	if (slot->kept) {
		own_remove(timer, i);
		retire(timer, i);
	} else {
		/* in the list: submitters take it out when they clean up */
		hand_over(timer, i);
	}
	count_ended(timer);
	return 0;
}
