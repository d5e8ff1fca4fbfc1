// SPDX-License-Identifier: LGPL-2.1-or-later
/* sched.c - run two threads of control step by step, in all orders */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "sched.h"

#define DECISIONS 4096
#define STACK 262144

static struct {
	const struct scenario *scenario;
	ucontext_t main, thread[2];
	char stack[2][STACK];
	bool ended[2];
	bool active;
	int now;
	unsigned char decision[DECISIONS];	/* 1: let the other one run */
	unsigned char choice[DECISIONS];	/* there was a choice */
	unsigned int count, planned, preempted;
} s;

static void go_on_with(int to)
{
	int from = s.now;

	s.now = to;
	s.scenario->switched(to);
	swapcontext(&s.thread[from], &s.thread[to]);
}

void step(void)
{
	unsigned int at = s.count;
	bool choice;

	if (!s.active)
		return;
	if (at == DECISIONS) {
		fprintf(stderr, "sched: a run has too many steps\n");
		abort();
	}
	choice = !s.ended[!s.now] && s.preempted < s.scenario->preemptions;
	s.choice[at] = choice;
	if (at >= s.planned)
		s.decision[at] = 0;
	s.count++;
	if (choice && s.decision[at]) {
		s.preempted++;
		go_on_with(!s.now);
	}
}

bool sched_block(void)
{
	if (s.ended[!s.now])
		return false;
	go_on_with(!s.now);
	return true;
}

static void thread_main(int who)
{
	s.scenario->thread[who]();
	s.ended[who] = true;
	if (s.ended[!who]) {
		s.active = false;
		setcontext(&s.main);
	}
	s.now = !who;
	s.scenario->switched(!who);
	setcontext(&s.thread[!who]);
}

static void run_once(void)
{
	s.scenario->setup();
	s.count = 0;
	s.preempted = 0;
	for (int who = 0; who < 2; who++) {
		s.ended[who] = false;
		getcontext(&s.thread[who]);
		s.thread[who].uc_stack.ss_sp = s.stack[who];
		s.thread[who].uc_stack.ss_size = STACK;
		makecontext(&s.thread[who], (void (*)(void))thread_main, 1, who);
	}
	s.now = WORKER;
	s.scenario->switched(WORKER);
	s.active = true;
	swapcontext(&s.main, &s.thread[WORKER]);
	s.scenario->check();
}

/* The next sequence of decisions: the last 0 that was a choice becomes 1. */
static bool next(void)
{
	unsigned int at = s.count;

	while (at && (s.decision[at - 1] || !s.choice[at - 1]))
		at--;
	if (!at)
		return false;
	s.decision[at - 1] = 1;
	s.planned = at;
	return true;
}

uint64_t sched_explore(const struct scenario *scenario, uint64_t limit)
{
	uint64_t runs = 0;

	memset(s.decision, 0, sizeof(s.decision));
	s.scenario = scenario;
	s.planned = 0;
	do {
		run_once();
		runs++;
	} while (runs < limit && next());
	return runs;
}

void sched_print(void)
{
	printf("# order:");
	for (unsigned int i = 0; i < s.count; i++)
		printf("%s", s.decision[i] ? "|" : ".");
	printf("\n");
}
