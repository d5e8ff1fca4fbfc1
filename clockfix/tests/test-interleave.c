// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * test-interleave.c - every interleaving of one submitter and the worker on short lists
 *
 * The library's own sources run step by step (steps/). Each job must run exactly once, or never
 * if its cancellation said so; none before its instant; none may be lost, nor a wake-up; and no
 * slot may be lost or be used twice.
 *
 * The list alone is tried in all orders; the whole timer in all that have few preemptions.
 */
#include <string.h>

#include "check.h"
#include "sim/turn.h"
#include "steps/sched.h"

#define JOBS 5

static struct clockfix *timer;
static int64_t t0;
static struct {
	clockfix_job handle;
	int runs, cancel;
	int64_t instant;
} jobs[JOBS];
static int pending_before;

/* ---- the list in all orders ------------------------------------------------------------- */

static struct slots slots;
static struct list list;
static struct tree_nodes nodes;
static uint32_t slot_of[JOBS];
static bool told;
static void (*operation)(void);
static int existing;

static uint32_t list_job(int n, int64_t instant)
{
	uint32_t i = slot_get(&slots);
	struct slot *slot = slot_at(&slots, i);

	memset(&jobs[n], 0, sizeof(jobs[n]));
	jobs[n].instant = instant;
	jobs[n].cancel = 1;
	/* the slot is nobody else's yet: no steps */
	atomic_store_explicit(&slot->instant, instant, memory_order_release);
	atomic_store_explicit(&slot->seq, (uint64_t)n, memory_order_release);
	atomic_store_explicit(&slot->arg, (void *)(intptr_t)n, memory_order_release);
	atomic_store_explicit(&slot->passed, false, memory_order_release);
	atomic_store_explicit(&slot->state, state_of(state_generation(slot->state),
						     PHASE_PENDING), memory_order_release);
	slot_of[n] = i;
	return i;
}

static bool list_add_job(int n, int64_t instant)
{
	uint32_t i = list_job(n, instant);

	if (list_reserve(&list))
		abort();
	return list_add(&list, i);
}

/* An empty list. Memory stays, and what was used of it is cleared: a run is shorter than that. */
static void forget_list(void)
{
	struct slot *chunk = slots.chunk[0];
	struct tree_node *node = nodes.chunk[0];

	if (chunk)
		memset(chunk, 0, slots.used * sizeof(*chunk));
	memset(&slots, 0, sizeof(slots));
	slots_init(&slots, 64, false);
	slots.chunk[0] = chunk;
	slots.chunks = !!chunk;
	tree_nodes_init(&nodes);
	nodes.chunk[0] = node;
	nodes.chunks = !!node;
}

static void list_setup(void)
{
	forget_list();
	memset(&list, 0, sizeof(list));
	memset(jobs, 0, sizeof(jobs));
	list_init(&list, &slots, &nodes);
	for (int n = 0; n < existing; n++)
		list_add_job(n, 10 * (n + 1));
	told = false;
}

/* the worker's way through the list, as worker.c goes it */
static bool list_pass(void)
{
	uint64_t work = list_work(&list), state;
	struct slot *slot = slot_at(&slots, work_slot(work));

	state = atomic_load(&slot->state);
	if (work_slot(work) == list.dummy)
		return false;
	if (slot_finished(slot)) {
		list_out(&list, work);
		return true;
	}
	if (state_phase(state) != PHASE_PENDING || list_work(&list) != work)
		return true;
	if (!atomic_compare_exchange_strong(&slot->state, &state,
					    state_of(state_generation(state), PHASE_RUNNING)))
		return true;
	jobs[(intptr_t)slot->arg].runs++;
	atomic_store(&slot->state, state_of(state_generation(state), PHASE_DONE));
	atomic_store(&slot->passed, true);
	list_out(&list, work);
	return true;
}

static void list_worker(void)
{
	while (list_pass())
		;
}

static void list_submitter(void)
{
	operation();
}

static void nothing(int to)
{
	(void)to;
}

static void complain(const char *what)
{
	if (check_failed++ < 3) {
		printf("# %s\n", what);
		sched_print();
	}
}

static void check_jobs(int count)
{
	for (int n = 0; n < count; n++) {
		/* cancel: 1 not tried, 0 it will not run, else it did */
		if (jobs[n].cancel == 0 && jobs[n].runs)
			complain("a cancelled job ran");
		if (jobs[n].cancel != 0 && jobs[n].runs != 1)
			complain(jobs[n].runs ? "a job ran twice" : "a job was lost");
	}
}

static int list_jobs;

static void list_check(void)
{
	/* the worker had come to the dummy before: it is told, or there is nothing to do */
	if (work_slot(list_work(&list)) != list.dummy) {
		struct slot *slot = slot_at(&slots, work_slot(list_work(&list)));

		if (!told && !slot_finished(slot))
			complain("a wake-up was lost");
		list_worker();
	}
	check_jobs(list_jobs);
}

static int64_t add_date;

static void op_add(void)
{
	list_jobs = existing + 1;
	told = list_add_job(existing, add_date);
}

static int cancel_which;

static void op_cancel(void)
{
	struct slot *slot = slot_at(&slots, slot_of[cancel_which]);
	uint64_t pending = state_of(state_generation(slot->state), PHASE_PENDING);

	list_jobs = existing;
	jobs[cancel_which].cancel = -1;
	if (!atomic_compare_exchange_strong(&slot->state, &pending,
					    state_of(state_generation(pending),
						     PHASE_CANCELLED)))
		return;
	jobs[cancel_which].cancel = 0;
	told = list_remove(&list, slot_of[cancel_which]);
	slot_put(&slots, slot_of[cancel_which]);
}

static void op_clean(void)
{
	uint32_t i;

	list_jobs = existing;
	while ((i = list_clean(&list)) != SLOT_NONE)
		slot_put(&slots, i);
}

static void op_clean_and_add(void)
{
	op_clean();
	op_add();
}

static void op_cancel_and_add(void)
{
	op_cancel();
	op_add();
}

static void op_add_and_cancel(void)
{
	op_add();
	cancel_which = existing;
	op_cancel();
	list_jobs = existing + 1;
}

static uint64_t list_explore(void (*op)(void), int count, uint32_t preemptions)
{
	static const struct scenario base = {
		.setup = list_setup,
		.thread = { list_submitter, list_worker },
		.switched = nothing,
		.check = list_check,
	};
	struct scenario scenario = base;
	uint64_t runs;

	sim_reset();
	operation = op;
	existing = count;
	scenario.preemptions = preemptions;
	runs = sched_explore(&scenario, 20000000);
	CHECK(runs < 20000000);
	return runs;
}

/* before, between, at and after the jobs there are */
static uint64_t at_all_places(void (*op)(void), int count, uint32_t preemptions)
{
	uint64_t runs = 0;

	for (add_date = 5; add_date <= 10 * count + 5 && !check_failed; add_date += 5)
		runs += list_explore(op, count, preemptions);
	return runs;
}

static void list_add_in_all_orders(void)
{
	uint64_t runs = 0;

	for (int count = 0; count <= 1; count++)
		runs += at_all_places(op_add, count, UINT32_MAX);
	runs += at_all_places(op_add, 2, 4);
	runs += at_all_places(op_add, 3, 3);
	printf("# %llu orders\n", (unsigned long long)runs);
}

static void list_cancel_in_all_orders(void)
{
	uint64_t runs = 0;

	for (int count = 1; count <= 3; count++) {
		for (cancel_which = 0; cancel_which < count && !check_failed; cancel_which++)
			runs += list_explore(op_cancel, count, count == 1 ? UINT32_MAX : 4);
	}
	printf("# %llu orders\n", (unsigned long long)runs);
}

static void list_clean_and_add_in_all_orders(void)
{
	uint64_t runs = at_all_places(op_clean_and_add, 1, 5) +
			at_all_places(op_clean_and_add, 2, 4) +
			at_all_places(op_clean_and_add, 3, 3);

	printf("# %llu orders\n", (unsigned long long)runs);
}

/* The slot of the cancelled job is used again while the worker may still look at it. */
static void list_cancel_and_add_in_all_orders(void)
{
	uint64_t runs = 0;

	for (int count = 1; count <= 2; count++) {
		for (int which = 0; which < count && !check_failed; which++) {
			cancel_which = which;
			runs += at_all_places(op_cancel_and_add, count, count == 1 ? 5 : 3);
		}
	}
	printf("# %llu orders\n", (unsigned long long)runs);
}

static void list_add_and_cancel_in_all_orders(void)
{
	uint64_t runs = at_all_places(op_add_and_cancel, 1, 5) +
			at_all_places(op_add_and_cancel, 2, 3);

	printf("# %llu orders\n", (unsigned long long)runs);
}

/* ---- the whole timer -------------------------------------------------------------------- */

static void job(void *arg, const struct clockfix_run *run)
{
	intptr_t n = (intptr_t)arg;

	jobs[n].runs++;
	if (sim.now < run->instant)
		complain("a job was early");
}

static void sleeping(int64_t until)
{
	if (until != INT64_MAX) {
		step();
		return;
	}
	while (!sim.woken) {
		if (!sched_block()) {
			complain("the worker sleeps for ever");
			atomic_store(&timer->drop, true);
			sim.woken = true;
		}
	}
}

static void timer_switched(int to)
{
	worker_set_self(to == WORKER ? timer : NULL);
}

static void submit(int n, int64_t instant)
{
	jobs[n].instant = instant;
	if (clockfix_submit(timer, instant, job, (void *)(intptr_t)n, &jobs[n].handle))
		complain("not submitted");
}

static void timer_setup(void)
{
	struct clockfix_options options;

	clockfix_options_init(&options);
	options.max_jobs = 16;
	options.job_reserve = 1;
	sim_reset();
	sim.sleeping = sleeping;
	timer = sim_timer(&options);
	worker_set_self(NULL);
	t0 = sim.now;
	memset(jobs, 0, sizeof(jobs));
	for (int n = 0; n < JOBS; n++)
		jobs[n].cancel = 1;
	for (int n = 0; n < pending_before; n++)
		submit(n, t0 + 5000 * (n + 1));
}

static void timer_worker(void)
{
	while (worker_turn(timer))
		;
}

/* slots neither free nor, for good, in use */
static void check_slots(void)
{
	uint32_t free = 0, known = 2 + 1;	/* the dummy, the queue's last; the reserve */

	clockfix_submit(timer, 0, job, (void *)(intptr_t)(JOBS - 1), NULL);
	for (uint32_t i = timer->slots.free_first; i != SLOT_NONE && free < 1000;
	     i = slot_at(&timer->slots, i)->free_next)
		free++;
	/* what the list still holds */
	for (uint32_t i = timer->list.head; i != timer->list.dummy;
	     i = slot_at(&timer->slots, i)->next)
		known++;
	if (free + known != timer->slots.used)
		complain("a slot was lost or is used twice");
}

static int timer_jobs;

static void timer_check_all(void)
{
	worker_set_self(NULL);
	check_jobs(timer_jobs);
	if (timer_pending(timer))
		complain("the number of pending jobs is wrong");
	check_slots();
	sim_timer_free(timer);
}

static void (*timer_op)(void);

static void timer_submitter(void)
{
	timer_op();
	atomic_store(&timer->dead, true);
	wake_notify(&timer->wake, INT64_MIN);
}

static uint64_t timer_explore(void (*op)(void), int before, int total, uint32_t preemptions)
{
	const struct scenario scenario = {
		.setup = timer_setup,
		.thread = { timer_submitter, timer_worker },
		.switched = timer_switched,
		.check = timer_check_all,
		.preemptions = preemptions,
	};
	uint64_t runs;

	timer_op = op;
	pending_before = before;
	timer_jobs = total;
	runs = sched_explore(&scenario, 5000000);
	CHECK(runs < 5000000);
	return runs;
}

static void submit_earlier(void)
{
	submit(pending_before, t0 + 3000);
}

static void submit_later(void)
{
	submit(pending_before, t0 + 7000);
}

static void submit_past(void)
{
	submit(pending_before, t0 - 1000);
}

/* The slot of a job that has just run is cleaned up and used again by the third. */
static void submit_thrice(void)
{
	submit(1, t0 + 6000);
	submit(2, t0 + 7000);
	submit(3, t0 + 8000);
}

static void cancel(int n)
{
	jobs[n].cancel = clockfix_cancel(timer, jobs[n].handle);
}

static void cancel_first(void)
{
	cancel(0);
}

static void cancel_first_and_submit(void)
{
	cancel(0);
	submit(1, t0 + 6000);
}

static void submit_and_cancel(void)
{
	submit(1, t0 + 2000);
	cancel(1);
}

static void timer_with_few_preemptions(void)
{
	uint64_t runs = 0;

	for (int before = 0; before <= 1; before++) {
		runs += timer_explore(submit_earlier, before, before + 1, 3);
		runs += timer_explore(submit_later, before, before + 1, 3);
		runs += timer_explore(submit_past, before, before + 1, 3);
	}
	runs += timer_explore(submit_thrice, 1, 4, 2);
	runs += timer_explore(cancel_first, 1, 1, 3);
	runs += timer_explore(cancel_first_and_submit, 1, 2, 2);
	runs += timer_explore(submit_and_cancel, 1, 2, 2);
	printf("# %llu orders\n", (unsigned long long)runs);
}

static void schedule_periodic(void)
{
	struct clockfix_spec spec;

	clockfix_spec_init(&spec);
	spec.start = t0 + 2000;
	spec.period = 3000;
	spec.runs = 3;
	spec.fn = job;
	spec.arg = (void *)(intptr_t)(JOBS - 2);
	if (clockfix_schedule(timer, &spec, &jobs[JOBS - 2].handle))
		complain("not scheduled");
	step();
	clockfix_cancel(timer, jobs[JOBS - 2].handle);
}

/* A periodic job goes from the list into the worker's tree while it is being cancelled. */
static void periodic_cancelled_with_few_preemptions(void)
{
	uint64_t runs = timer_explore(schedule_periodic, 1, 1, 2);

	printf("# %llu orders\n", (unsigned long long)runs);
}

CHECK_MAIN(TEST(list_add_in_all_orders), TEST(list_cancel_in_all_orders),
	   TEST(list_clean_and_add_in_all_orders), TEST(list_cancel_and_add_in_all_orders),
	   TEST(list_add_and_cancel_in_all_orders), TEST(timer_with_few_preemptions),
	   TEST(periodic_cancelled_with_few_preemptions))
