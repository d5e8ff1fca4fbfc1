// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * test-interleave.c - every interleaving of one submitter and the worker on short lists
 *
 * The library's own sources run step by step (steps.h). Each job must run exactly once, or never
 * if its cancellation said so; none before its instant; none may be lost, nor a wake-up; and no
 * slot may be lost or be used twice.
 *
 * The order of a run is a sequence of decisions, one at each step: go on or let the other one
 * run. Runs are repeated with the next sequence until there is none. Of a short list all orders
 * would be too many: all are tried that have few preemptions, as most errors need two or three.
 */
#include <string.h>
#include <ucontext.h>

#include "check.h"
#include "sim/turn.h"

#define JOBS		5
#define DECISIONS	4096
#define STACK		262144

enum { SUBMITTER, WORKER };

static struct {
	void (*op)(void);		/* the submitter's */
	ucontext_t main, thread[2];
	char stack[2][STACK];
	bool ended[2];
	bool active;
	int now;
	unsigned char decision[DECISIONS];	/* 1: let the other one run */
	unsigned char choice[DECISIONS];	/* there was a choice */
	unsigned int count, planned, preempted, preemptions_most;
} sched;

static struct clockfix *timer;
static int64_t t0;
static struct {
	clockfix_job handle;
	int runs, cancel;
	int64_t instant;
} jobs[JOBS];
static int pending_before, jobs_total;

static void complain(const char *what)
{
	if (check_failed++ >= 3)
		return;
	printf("# %s\n# order:", what);
	for (unsigned int i = 0; i < sched.count; i++)
		printf("%s", sched.decision[i] ? "|" : ".");
	printf("\n");
}

/* ---- two threads of control, step by step ------------------------------------------------- */

static void switched(int to)
{
	sched.now = to;
	worker_set_self(to == WORKER ? timer : NULL);
}

static void go_on_with(int to)
{
	int from = sched.now;

	switched(to);
	swapcontext(&sched.thread[from], &sched.thread[to]);
}

void step(void)
{
	unsigned int at = sched.count;

	if (!sched.active)
		return;
	if (at == DECISIONS) {
		fprintf(stderr, "a run has too many steps\n");
		abort();
	}
	sched.choice[at] = !sched.ended[!sched.now] && sched.preempted < sched.preemptions_most;
	if (at >= sched.planned)
		sched.decision[at] = 0;
	sched.count++;
	if (sched.choice[at] && sched.decision[at]) {
		sched.preempted++;
		go_on_with(!sched.now);
	}
}

/* The running thread can't go on before the other one has; false if that has ended. */
static bool block(void)
{
	if (sched.ended[!sched.now])
		return false;
	go_on_with(!sched.now);
	return true;
}

static void thread_main(int who)
{
	if (who == SUBMITTER) {
		sched.op();
		atomic_store(&timer->dead, true);
		wake_notify(&timer->wake, INT64_MIN);
	} else {
		while (worker_turn(timer))
			;
	}
	sched.ended[who] = true;
	if (sched.ended[!who]) {
		sched.active = false;
		setcontext(&sched.main);
	}
	switched(!who);
	setcontext(&sched.thread[!who]);
}

static void run_both(void)
{
	sched.count = 0;
	sched.preempted = 0;
	for (int who = 0; who < 2; who++) {
		sched.ended[who] = false;
		getcontext(&sched.thread[who]);
		sched.thread[who].uc_stack.ss_sp = sched.stack[who];
		sched.thread[who].uc_stack.ss_size = STACK;
		makecontext(&sched.thread[who], (void (*)(void))thread_main, 1, who);
	}
	switched(WORKER);
	sched.active = true;
	swapcontext(&sched.main, &sched.thread[WORKER]);
	worker_set_self(NULL);
}

/* The next sequence of decisions: the last 0 that was a choice becomes 1. */
static bool next_order(void)
{
	unsigned int at = sched.count;

	while (at && (sched.decision[at - 1] || !sched.choice[at - 1]))
		at--;
	if (!at)
		return false;
	sched.decision[at - 1] = 1;
	sched.planned = at;
	return true;
}

/* ---- one run ------------------------------------------------------------------------------ */

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
		if (!block()) {
			complain("the worker sleeps for ever");
			atomic_store(&timer->drop, true);
			sim.woken = true;
		}
	}
}

static void submit(int n, int64_t instant)
{
	jobs[n].instant = instant;
	if (clockfix_submit(timer, instant, job, (void *)(intptr_t)n, &jobs[n].handle))
		complain("not submitted");
}

static void setup(void)
{
	struct clockfix_options options;

	clockfix_options_init(&options);
	options.max_jobs = 16;
	sim_reset();
	sim.sleeping = sleeping;
	timer = sim_timer(&options);
	t0 = sim.now;
	memset(jobs, 0, sizeof(jobs));
	for (int n = 0; n < JOBS; n++)
		jobs[n].cancel = 1;
	for (int n = 0; n < pending_before; n++)
		submit(n, t0 + 5000 * (n + 1));
}

static void check_jobs(void)
{
	for (int n = 0; n < jobs_total; n++) {
		/* cancel: 1 not tried, 0 it will not run, else it did */
		if (jobs[n].cancel == 0 && jobs[n].runs)
			complain("a cancelled job ran");
		if (jobs[n].cancel != 0 && jobs[n].runs != 1)
			complain(jobs[n].runs ? "a job ran twice" : "a job was lost");
	}
	if (timer_pending(timer))
		complain("the number of pending jobs is wrong");
}

/* slots neither free nor, for good, in use */
static void check_slots(void)
{
	uint32_t free = 0, known = 2 + 16;	/* the dummy, the queue's last; the reserve */

	clockfix_submit(timer, 0, job, (void *)(intptr_t)(JOBS - 1), NULL);
	for (uint32_t i = timer->slots.free; i != SLOT_NONE && free < 1000;
	     i = slot_at(&timer->slots, i)->below)
		free++;
	/* what the list still holds */
	for (uint32_t i = timer->list.head; i != timer->list.dummy;
	     i = slot_at(&timer->slots, i)->next)
		known++;
	if (free + known != timer->slots.used)
		complain("a slot was lost or is used twice");
}

/* All orders of @op and a worker with @before jobs pending, @total in the end; returns how many. */
static uint64_t explore(void (*op)(void), int before, int total, unsigned int preemptions)
{
	uint64_t runs = 0;

	memset(sched.decision, 0, sizeof(sched.decision));
	sched.op = op;
	sched.planned = 0;
	sched.preemptions_most = preemptions;
	pending_before = before;
	jobs_total = total;
	do {
		setup();
		run_both();
		check_jobs();
		check_slots();
		sim_timer_free(timer);
		runs++;
	} while (runs < 5000000 && next_order());
	CHECK(runs < 5000000);
	return runs;
}

/* ---- operations --------------------------------------------------------------------------- */

static int64_t add_at;	/* after t0 */
static int which;

static void add(void)
{
	submit(pending_before, t0 + add_at);
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

static void cancel_one(void)
{
	cancel(which);
}

/* The slot of the cancelled job is used again while the worker may still look at it. */
static void cancel_one_and_add(void)
{
	cancel(which);
	add();
}

static void add_and_cancel(void)
{
	add();
	cancel(pending_before);
}

/* in the past, and before, at, between and after the jobs there are */
static uint64_t at_all_places(void (*op)(void), int before, unsigned int preemptions)
{
	uint64_t runs = 0;

	for (add_at = -1000; add_at <= 5000 * before + 2500 && !check_failed;
	     add_at += add_at < 0 ? 3500 : 2500)
		runs += explore(op, before, before + 1, preemptions);
	return runs;
}

static void jobs_are_submitted(void)
{
	uint64_t runs = explore(submit_thrice, 1, 4, 2);

	for (int before = 0; before <= 3; before++)
		runs += at_all_places(add, before, before < 2 ? 3 : 2);
	printf("# %llu orders\n", (unsigned long long)runs);
}

static void jobs_are_cancelled(void)
{
	uint64_t runs = 0;

	for (int before = 1; before <= 3; before++) {
		for (which = 0; which < before && !check_failed; which++) {
			runs += explore(cancel_one, before, before, before < 3 ? 3 : 2);
			if (before < 3)
				runs += at_all_places(cancel_one_and_add, before, 2);
		}
		if (before < 3)
			runs += at_all_places(add_and_cancel, before, 2);
	}
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
	printf("# %llu orders\n", (unsigned long long)explore(schedule_periodic, 1, 1, 2));
}

CHECK_MAIN(TEST(jobs_are_submitted), TEST(jobs_are_cancelled),
	   TEST(periodic_cancelled_with_few_preemptions))
