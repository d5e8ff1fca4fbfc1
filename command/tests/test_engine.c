// SPDX-License-Identifier: GPL-2.0-or-later
/* blame's accounting on events of two CPUs that are made up: each moment taken has a culprit. */
#include "blame/blame_types.h"

static unsigned int nr_limited;		/* so many of these have no quota */

#define WHY_THROTTLED(victim) \
	((victim)->who.tid < 100 + nr_limited ? THROTTLE_QUOTA : 0)

#include "check.h"
#include "lib/text.h"
#include "store.h"

#define US 1000ull
#define TASK_STRUCT 0xffff888000000000ull
#define START 1000000000ull

enum { VICTIM = 100, ABOVE = 101, OTHER = 200 };

static struct blame_config config;
static struct blame_lost lost;
static struct cpu cpus[2];
static struct store rows = {
	.key = sizeof(struct cause), .value = sizeof(struct row),
};
static struct store victims = { .key = sizeof(u32), .value = sizeof(struct victim) };
static struct store targets = { .key = sizeof(u32), .value = sizeof(u32) };
static struct store armed = { .key = sizeof(u64), .value = sizeof(struct armed) };
static struct store jobs_of = { .key = sizeof(u32), .value = sizeof(struct jobs) };
static struct link link_of[400];
static struct store works = { .key = sizeof(u32), .value = sizeof(u64) };

#define LINK(tid) ((tid) < ARRAY_SIZE(link_of) ? &link_of[tid] : NULL)
#define FIND_CPU(number) ((number) < 2 ? &cpus[number] : NULL)

#include "blame/engine.bpf.c"

static const struct who who_victim = { .tid = VICTIM, .tgid = VICTIM, .priority = 49 };
static const struct who who_above = { .tid = ABOVE, .tgid = ABOVE, .priority = 39 };
static const struct who who_other = { .tid = OTHER, .tgid = OTHER, .priority = 29 };
static const struct who who_idle = { .priority = 120 };

/* Both CPUs idle, and so many targets from the victim on. */
static void begin(u32 count)
{
	u32 one = 1;

	rows.used = 0;
	victims.used = 0;
	targets.used = 0;
	memset(cpus, 0, sizeof(cpus));
	memset(&config, 0, sizeof(config));
	memset(link_of, 0, sizeof(link_of));
	jobs_of.used = 0;
	config.started = START;
	config.on = 1;
	for (u32 id = VICTIM; id < VICTIM + count; id++)
		store_put(&targets, &id, &one);
}

static struct cpu *event(u32 number, const struct who *now_runs)
{
	cpus[number].events++;
	if (is_to_learn(&cpus[number]))
		learn_task(&cpus[number], number, now_runs, 0, TASK_STRUCT);
	return &cpus[number];
}

static void switch_tasks(u32 number, u64 us, const struct who *from, int runnable,
			 const struct who *to)
{
	on_switch(event(number, from), NULL, number, START + us * US, from, runnable, to, 0, 0,
		  0, 0);
}

static void wake_by(u32 number, u64 us)
{
	on_wakeup(&cpus[number], NULL, START + us * US, &who_victim, 0, 0);
	on_wakeup(&cpus[number], NULL, START + us * US, &who_victim, 0, 1);
}

static void interrupt(u32 number, u64 us, u64 ns, const struct who *now_runs)
{
	push(event(number, now_runs), START + us * US, FRAME_IRQ, CAUSE_IRQ, 1);
	before_pop(&cpus[number]);
	pop(event(number, now_runs), START + us * US + ns, FRAME_IRQ);
}

static const struct row *row_of(struct cause cause)
{
	static const struct row none;
	const struct row *row;

	if (!cause.victim)
		cause.victim = VICTIM;
	row = store_find(&rows, &cause);
	return row ? row : &none;
}

static u64 total_of(struct cause cause)
{
	return row_of(cause)->total / US;
}

/* TAKEN us in all; nothing unexplained. */
static const struct victim *expect_taken(u64 taken)
{
	u32 id = VICTIM;
	const struct victim *victim = store_find(&victims, &id);
	u64 explained = 0;

	check(victim, "the victim is not there");
	for (size_t i = 0; i < rows.used; i++) {
		const struct cause *cause = (const void *)rows.keys[i];

		if (cause->victim == VICTIM && cause->kind != CAUSE_SLEPT)
			explained += ((const struct row *)rows.values[i])->total;
	}
	check(victim->taken == taken * US, "taken %llu ns", (unsigned long long)victim->taken);
	check(explained == victim->taken, "explained %llu ns", (unsigned long long)explained);
	return victim;
}

/* TAKEN us, of it by OTHER, RAN us. */
static void expect(u64 ran, u64 taken, u64 by_other)
{
	const struct victim *victim = expect_taken(taken);

	check(victim->ran == ran * US, "ran %llu ns", (unsigned long long)victim->ran);
	check(total_of((struct cause){ .kind = CAUSE_TASK, .id = OTHER }) == by_other,
	      "by the other task");
}

static void longest_is(u64 us)
{
	u32 id = VICTIM;
	const struct victim *victim = store_find(&victims, &id);

	check(victim->longest == us * US, "longest %llu ns", (unsigned long long)victim->longest);
}

static void preempted(void)
{
	begin(1);
	switch_tasks(0, 10, &who_idle, 1, &who_victim);
	switch_tasks(0, 30, &who_victim, 1, &who_other);
	switch_tasks(0, 70, &who_other, 0, &who_victim);
	switch_tasks(0, 80, &who_victim, 0, &who_idle);
	expect(30, 40, 40);
	longest_is(40);
}

/* A task that is new waits for a CPU, too. */
static void waits_when_it_is_new(void)
{
	begin(1);
	switch_tasks(1, 0, &who_idle, 1, &who_other);
	on_new_task(START + 10 * US, &who_victim, 0, TASK_STRUCT, 1);
	switch_tasks(1, 60, &who_other, 1, &who_victim);
	switch_tasks(1, 80, &who_victim, 0, &who_idle);
	expect(20, 50, 50);
	longest_is(50);
}

/* A CPU without an event since the start: what runs there has run all the time. */
static void waits_on_a_cpu_without_events(void)
{
	begin(1);
	switch_tasks(0, 10, &who_idle, 1, &who_victim);
	switch_tasks(0, 20, &who_victim, 0, &who_idle);
	on_migrate(START + 30 * US, VICTIM, 1);
	wake_by(0, 30);
	switch_tasks(1, 530, &who_other, 0, &who_victim);
	switch_tasks(1, 540, &who_victim, 0, &who_idle);
	expect(20, 500, 500);
}

/* It is woken before it sleeps, and goes on running. */
static void woken_while_it_runs(void)
{
	begin(1);
	switch_tasks(0, 10, &who_idle, 1, &who_victim);
	wake_by(0, 20);
	for (u64 us = 30; us < 130; us++)
		interrupt(0, us, US / 2, &who_victim);
	switch_tasks(0, 130, &who_victim, 0, &who_idle);
	expect(70, 50, 0);
}

/* What happens on other CPUs than those that are looked at is no wait. */
static void runs_where_nobody_looks(void)
{
	begin(1);
	config.cpu_limited = 1;
	config.cpus[0] = 1;
	switch_tasks(0, 10, &who_idle, 1, &who_victim);
	switch_tasks(0, 20, &who_victim, 1, &who_other);
	on_migrate(START + 30 * US, VICTIM, 1);
	switch_tasks(1, 40, &who_idle, 1, &who_victim);
	switch_tasks(1, 1000, &who_victim, 0, &who_idle);
	wake_by(0, 2000);
	switch_tasks(1, 2010, &who_idle, 1, &who_victim);
	switch_tasks(1, 3000, &who_victim, 0, &who_idle);
	on_migrate(START + 4000 * US, VICTIM, 0);
	wake_by(0, 4000);
	switch_tasks(0, 4005, &who_other, 0, &who_victim);
	switch_tasks(0, 4010, &who_victim, 0, &who_idle);
	expect(15, 15, 5);
}

/*
 * More happens while it waits than is kept. Another victim, which keeps it waiting, is preempted
 * for a moment itself.
 */
static void waits_for_long(void)
{
	begin(2);
	switch_tasks(0, 0, &who_idle, 1, &who_victim);
	switch_tasks(0, 10, &who_victim, 1, &who_above);
	for (u64 us = 10; us < 10010; us++) {
		if (us == 2010)
			switch_tasks(0, us, &who_above, 1, &who_other);
		else if (us == 2011)
			switch_tasks(0, us, &who_other, 0, &who_above);
		interrupt(0, us, US / 4, &who_above);
	}
	switch_tasks(0, 10010, &who_above, 0, &who_victim);
	expect_taken(10000);
	check(total_of((struct cause){ .kind = CAUSE_TASK, .id = ABOVE }) == 7498,
	      "by the other victim");
}

/* The scheduler passes over a FIFO task: that was throttled, whatever ran instead. */
static void throttled(void)
{
	static const struct who fair = { .tid = ABOVE, .tgid = ABOVE, .priority = 120 };
	const struct row *row;

	begin(1);
	switch_tasks(0, 0, &who_idle, 1, &who_victim);
	switch_tasks(0, 10, &who_victim, 1, &fair);
	interrupt(0, 20, 5 * US, &fair);
	switch_tasks(0, 40, &fair, 1, &who_other);
	switch_tasks(0, 60, &who_other, 0, &who_victim);
	switch_tasks(0, 70, &who_victim, 0, &who_idle);
	/* what ran when it was woken is just slow to give way */
	switch_tasks(0, 80, &who_idle, 1, &fair);
	wake_by(0, 100);
	switch_tasks(0, 104, &fair, 1, &who_victim);
	switch_tasks(0, 110, &who_victim, 0, &who_idle);
	expect(26, 54, 20);
	row = row_of((struct cause){ .kind = CAUSE_THROTTLED, .id = THROTTLE_EITHER });
	check(row->total == 30 * US && row->count == 1, "throttled");
}

/*
 * Five of them, more than wait for their turns at most. Two others take turns while none has a
 * quota, and keep them waiting when each has one again; one is moved to another CPU meanwhile.
 */
static void without_quota(void)
{
	static const struct who runners[] = { { .tid = 300, .priority = 120 },
					      { .tid = 301, .priority = 120 } };
	struct who limited[5] = { 0 };

	begin(5);
	for (u32 i = 0; i < ARRAY_SIZE(limited); i++) {
		limited[i] = (struct who){ .tid = VICTIM + i, .tgid = VICTIM, .priority = 120 };
		switch_tasks(0, 10 * i, i ? &limited[i - 1] : &who_idle, 1, &limited[i]);
		nr_limited = i + 1;
	}
	switch_tasks(0, 50, &limited[4], 1, &runners[0]);
	for (u32 i = 0; i < 4; i++)
		switch_tasks(0, 60 + 10 * i, &runners[i % 2], 1, &runners[!(i % 2)]);
	on_migrate(START + 95 * US, VICTIM + 4, 1);
	nr_limited = 0;
	interrupt(0, 100, US, &runners[0]);
	check(!cpus[0].nr_limited, "%u have no quota", cpus[0].nr_limited);
	for (u32 i = 0; i < 4; i++)
		switch_tasks(0, 110 + 10 * i, i ? &limited[i - 1] : &runners[0], !i, &limited[i]);
	for (u32 i = 0; i < ARRAY_SIZE(limited); i++) {
		const struct row *row = row_of((struct cause){
			.victim = VICTIM + i, .kind = CAUSE_THROTTLED, .id = THROTTLE_QUOTA });

		check(row->total == (i < 4 ? 90 - 10 * i : 45) * US && row->count == 1,
		      "number %u waited %llu ns for it", i, (unsigned long long)row->total);
	}
	expect_taken(100);
}

/* Two devices are polled in a softirq, and an interrupt comes in between. */
static void network(void)
{
	static const struct who first = { .comm = "first" }, second = { .comm = "second" };
	static const u64 totals[] = { 10, 30, 25 };	/* until the interrupt; by device */
	struct cpu *cpu;

	begin(1);
	switch_tasks(0, 0, &who_idle, 1, &who_victim);
	cpu = event(0, &who_victim);
	on_poll(cpu, START + 5 * US, &first, 1);	/* a task polls it itself */
	push(cpu, START + 10 * US, FRAME_SOFTIRQ, CAUSE_SOFTIRQ, NET_RX);
	interrupt(0, 20, 5 * US, &who_victim);
	on_poll(cpu, START + 55 * US, &first, 1);
	on_poll(cpu, START + 75 * US, &second, 2);
	pop(cpu, START + 80 * US, FRAME_SOFTIRQ);
	switch_tasks(0, 100, &who_victim, 0, &who_idle);
	for (u32 i = 0; i < ARRAY_SIZE(totals); i++) {
		const struct row *row = row_of((struct cause){ .kind = CAUSE_SOFTIRQ,
							       .id = NET_RX, .how = i });

		check(row->total == totals[i] * US && row->count == !!i, "device %u", i);
	}
	expect(30, 70, 0);
}

enum { SLEEPS = 0xffffff81u };		/* hrtimer_wakeup() */

/* The timer of the victim was due at DUE; now it expires, in an interrupt or in a softirq. */
static void expire(u32 number, u64 us, u64 due, u32 kind, const struct who *now_runs)
{
	struct cpu *cpu = event(number, now_runs);

	push(cpu, START + us * US, kind, kind == FRAME_SOFTIRQ ? CAUSE_SOFTIRQ : CAUSE_TIMER_IRQ, 0);
	on_timer(cpu, START + us * US, 1, SLEEPS, START + due * US, 0);
	own_frame(cpu, &who_victim, OWNER_WOKEN, 0);
	wake_by(number, us + 2);
	before_pop(cpu);
	pop(event(number, now_runs), START + (us + 3) * US, kind);
}

static void begin_sleeping(u64 us, u32 sleep)
{
	begin(1);
	config.owned[0] = SLEEPS;
	config.owned_how[0] = HOW_SLEEP;
	switch_tasks(0, 0, &who_idle, 1, &who_victim);
	on_switch(event(0, &who_victim), NULL, 0, START + us * US, &who_victim, 0, &who_other, 0, 0,
		  0, sleep);
}

/* It is late from then on: the other task has interrupts off, then they come, then it runs. */
static void late_by_interrupts_off(void)
{
	begin_sleeping(10, 0);
	expire(0, 500, 100, FRAME_VECTOR, &who_other);
	switch_tasks(0, 510, &who_other, 1, &who_victim);
	switch_tasks(0, 520, &who_victim, 0, &who_idle);
	expect(20, 410, 7);
	check(total_of((struct cause){ .kind = CAUSE_IRQS_OFF, .id = OTHER }) == 400, "interrupts off");
	check(total_of((struct cause){ .kind = CAUSE_SLEPT }) == 90, "slept");
	longest_is(410);
}

/* Not late by more than any interrupt is. */
static void late_by_a_little(void)
{
	begin_sleeping(10, 0);
	expire(0, 103, 100, FRAME_VECTOR, &who_other);
	switch_tasks(0, 110, &who_other, 1, &who_victim);
	expect(10, 10, 4);
	check(total_of((struct cause){ .kind = CAUSE_TIMER_IRQ, .how = 1 }) == 3, "came late");
	check(row_of((struct cause){ .kind = CAUSE_TASK, .id = OTHER })->count == 1, "not counted once");
}

/* The CPU was idle, and woke up for it. */
static void woken_on_an_idle_cpu(void)
{
	begin_sleeping(10, 0);
	switch_tasks(0, 20, &who_other, 0, &who_idle);
	expire(0, 100, 100, FRAME_VECTOR, &who_idle);
	switch_tasks(0, 110, &who_idle, 1, &who_victim);
	expect_taken(10);
	check(row_of((struct cause){ .kind = CAUSE_TASK })->count == 1, "not counted once");
}

/* The softirq's thread waits for another task; what happened before the timer was due is not to blame. */
static void late_by_a_softirq(void)
{
	static const struct who softirqs = { .tid = 15, .priority = 98 };

	begin_sleeping(10, 0);
	switch_tasks(0, 50, &who_other, 1, &who_above);
	switch_tasks(0, 400, &who_above, 0, &softirqs);
	expire(0, 401, 100, FRAME_SOFTIRQ, &softirqs);
	switch_tasks(0, 410, &softirqs, 1, &who_victim);
	expect_taken(310);
	check(total_of((struct cause){ .kind = CAUSE_KEPT, .id = ABOVE, .how = 15 }) == 300, "kept");
	longest_is(310);
}

/* Three times: by the owner itself, by what runs while the owner is ready, by what runs while it sleeps. */
static void blocked(void)
{
	u32 sleep = SLEEP_LOCK << HOW_SHIFT | 203;

	begin_sleeping(10, sleep);
	switch_tasks(0, 60, &who_other, 0, &who_above);		/* the owner sleeps */
	on_switch(event(0, &who_above), NULL, 0, START + 160 * US, &who_above, 1, &who_other, 0, 0,
		  START + 140 * US, 0);
	wake_by(0, 200);
	switch_tasks(0, 205, &who_other, 1, &who_victim);
	expect_taken(195);
	check(total_of((struct cause){ .kind = CAUSE_KEPT, .id = ABOVE, .how = OTHER,
				       .function = 203 }) == 20, "kept");
	check(total_of((struct cause){ .kind = CAUSE_BLOCKED, .id = OTHER, .how = sleep }) == 170,
	      "blocked");
	longest_is(195);
}

/* What it needs is blocked itself for a part of that time. */
static void blocked_by_one_that_is_blocked(void)
{
	static const struct who middle = { .tid = ABOVE, .tgid = ABOVE, .priority = 59 };
	u32 sleep = SLEEP_LOCK << HOW_SHIFT | 203;

	begin_sleeping(10, sleep);
	switch_tasks(1, 0, &who_idle, 1, &middle);
	on_switch(event(1, &middle), NULL, 1, START + 50 * US, &middle, 0, &who_other, 0, 0, 0, sleep);
	link_to_waker(&cpus[1], ABOVE, START + 150 * US);
	on_switch(event(1, &who_other), NULL, 1, START + 155 * US, &who_other, 1, &middle, 0, 0,
		  START + 150 * US, 0);
	wake_by(1, 170);
	switch_tasks(0, 175, &who_other, 1, &who_victim);
	expect_taken(165);
	check(total_of((struct cause){ .kind = CAUSE_BLOCKED, .id = OTHER, .how = sleep,
				       .function = ABOVE }) == 100, "by the one in the end");
	check(total_of((struct cause){ .kind = CAUSE_BLOCKED, .id = ABOVE, .how = sleep }) == 55,
	      "by the one in the middle");
}

/* The owner's group has no quota: once the CPU idles meanwhile, once what it was is known. */
static void blocked_without_quota(void)
{
	static const struct who owner = { .tid = 201, .tgid = 201, .priority = 120 };
	u32 sleep = SLEEP_LOCK << HOW_SHIFT | 203;

	begin_sleeping(10, sleep);
	switch_tasks(0, 60, &who_other, 0, &owner);
	switch_tasks(0, 100, &owner, 1, &who_idle);
	on_switch(event(0, &who_idle), NULL, 0, START + 160 * US, &who_idle, 1, &owner, 0, 0,
		  START + 100 * US, 0);
	on_quota_used(&cpus[0], owner.tid);
	switch_tasks(0, 180, &owner, 1, &who_above);
	on_switch(event(0, &who_above), NULL, 0, START + 200 * US, &who_above, 1, &owner, 0, 0,
		  START + 180 * US, 0);
	wake_by(0, 210);
	switch_tasks(0, 215, &owner, 1, &who_victim);
	expect_taken(205);
	check(total_of((struct cause){ .kind = CAUSE_THROTTLED, .id = THROTTLE_QUOTA,
				       .how = owner.tid }) == 80, "quota");
	check(total_of((struct cause){ .kind = CAUSE_BLOCKED, .id = owner.tid, .how = sleep }) == 120,
	      "blocked");
}

/* Who waits for work, or for a signal, is not blocked. */
static void means_to_sleep(void)
{
	begin_sleeping(10, 0);
	wake_by(0, 900);
	switch_tasks(0, 905, &who_other, 1, &who_victim);
	expect(10, 5, 5);
	config.futex = 203;
	config.writes[0] = 2;
	check(how_it_sleeps(1, 2, 0, 0) >> HOW_SHIFT == SLEEP_DEEP, "a full pipe");
	check(how_it_sleeps(1, 203, OP_WAIT_BITSET, 0) >> HOW_SHIFT == SLEEP_MEANT, "a condition");
	check(how_it_sleeps(1, 203, OP_WAIT | 128, 2) >> HOW_SHIFT == SLEEP_LOCK, "a mutex");
	check(how_it_sleeps(1, 203, OP_LOCK_PI, 0) >> HOW_SHIFT == SLEEP_LOCK, "a PI mutex");
	check(how_it_sleeps(STATE_DEEP, 1, 0, 0) >> HOW_SHIFT == SLEEP_DEEP, "a disk");
	check(how_it_sleeps(STATE_DEEP | STATE_IDLE, 1, 0, 0) >> HOW_SHIFT == SLEEP_MEANT, "idle");
	check(how_it_sleeps(1, 0, 0, 0) >> HOW_SHIFT == SLEEP_DEEP, "a page fault");
	check(how_it_sleeps(0x80, 203, OP_WAIT, 2) >> HOW_SHIFT == SLEEP_MEANT, "it has ended");
}

/* It meant to wait for a task, which was ready twice and did not run, and slept before that. */
static void woken_late(void)
{
	begin_sleeping(10, 0);
	switch_tasks(0, 60, &who_other, 0, &who_above);
	on_switch(event(0, &who_above), NULL, 0, START + 460 * US, &who_above, 1, &who_other, 0, 0,
		  START + 100 * US, 0);
	switch_tasks(0, 470, &who_other, 1, &who_above);
	on_switch(event(0, &who_above), NULL, 0, START + 600 * US, &who_above, 1, &who_other, 0, 0,
		  START + 470 * US, 0);
	wake_by(0, 610);
	switch_tasks(0, 615, &who_other, 1, &who_victim);
	expect_taken(495);
	check(total_of((struct cause){ .kind = CAUSE_KEPT, .id = ABOVE, .how = OTHER }) == 490, "kept");
	check(total_of((struct cause){ .kind = CAUSE_SLEPT }) == 110, "slept");
	longest_is(495);
}

enum { NANOSLEEP = 231, RECEIVE = 46, PAUSE = 35, MIDDLE = 102 };

static void sleep_in(u64 us, u32 call)
{
	cpus[0].call = call;
	on_switch(event(0, &who_victim), NULL, 0, START + us * US, &who_victim, 0, &who_other, 0, 0, 0,
		  call);
}

static void release_at(u64 us)
{
	expire(0, us, us, FRAME_VECTOR, &who_other);
	switch_tasks(0, us + 10, &who_other, 1, &who_victim);
}

/* Its timer releases it each 1000 us: the second time it is known to begin jobs. */
static void begin_with_jobs(void)
{
	begin(1);
	config.owned[0] = SLEEPS;
	config.owned_how[0] = HOW_SLEEP;
	switch_tasks(0, 0, &who_idle, 1, &who_victim);
	for (u64 us = 0; us < 4000; us += 1000) {
		sleep_in(us + 30, NANOSLEEP);
		release_at(us + 1000);
	}
}

static const struct jobs *jobs_are(u64 count, u64 late, u64 longest, u64 own)
{
	u32 id = VICTIM;
	const struct jobs *jobs = store_find(&jobs_of, &id);

	check(jobs && jobs->count == count, "%llu jobs", (unsigned long long)(jobs ? jobs->count : 0));
	check(jobs->late == late, "%llu late", (unsigned long long)jobs->late);
	check(jobs->longest == longest * US && jobs->longest_own == own * US, "longest %llu, own %llu",
	      (unsigned long long)jobs->longest, (unsigned long long)jobs->longest_own);
	return jobs;
}

/* In a job it waits for one that is woken by another one: both wait for the CPU. */
static void waits_in_a_job(void)
{
	static const struct who middle = { .tid = MIDDLE, .tgid = MIDDLE, .priority = 59 };
	static const u32 wait = SLEEP_WAIT << HOW_SHIFT | RECEIVE;
	const struct jobs *jobs;

	begin_with_jobs();
	config.over = 100 * US;
	sleep_in(4030, RECEIVE);
	on_switch(event(0, &who_other), NULL, 0, START + 4080 * US, &who_other, 1, &middle, 0, 0,
		  START + 4030 * US, 0);
	link_to_waker(&cpus[0], ABOVE, START + 4100 * US);
	switch_tasks(0, 4120, &middle, 0, &who_other);
	on_switch(event(0, &who_other), NULL, 0, START + 4500 * US, &who_other, 1, &who_above, 0, 0,
		  START + 4100 * US, 0);
	wake_by(0, 4520);
	switch_tasks(0, 4525, &who_above, 1, &who_victim);
	sleep_in(4530, NANOSLEEP);
	check(total_of((struct cause){ .kind = CAUSE_KEPT, .id = OTHER, .how = ABOVE,
				       .function = RECEIVE }) == 380, "kept the one that woke it");
	check(total_of((struct cause){ .kind = CAUSE_KEPT, .id = OTHER, .how = MIDDLE }) == 50,
	      "kept the one in the end");
	check(total_of((struct cause){ .kind = CAUSE_BLOCKED, .id = ABOVE, .how = wait }) == 20, "it ran");
	check(total_of((struct cause){ .kind = CAUSE_BLOCKED, .id = MIDDLE, .how = wait,
				       .function = ABOVE }) == 20, "the one in the end ran");
	jobs = jobs_are(3, 1, 530, 25);
	check(jobs->longest_waited == 490 * US && jobs->least == 20 * US && jobs->most == 25 * US,
	      "waited %llu", (unsigned long long)jobs->longest_waited);
}

/* Of a packet to this machine: the task that sent it wakes the victim, in a softirq. */
static void is_woken_in_a_softirq(void)
{
	begin_with_jobs();
	sleep_in(4030, RECEIVE);
	on_switch(event(0, &who_other), NULL, 0, START + 4100 * US, &who_other, 0, &who_above, 0, 0,
		  START + 4040 * US, 0);
	on_raise(&cpus[0], NET_RX);
	push(&cpus[0], START + 4110 * US, FRAME_SOFTIRQ, CAUSE_SOFTIRQ, NET_RX);
	wake_by(0, 4112);
	pop(&cpus[0], START + 4115 * US, FRAME_SOFTIRQ);
	switch_tasks(0, 4120, &who_above, 1, &who_victim);
	check(total_of((struct cause){ .kind = CAUSE_KEPT, .id = OTHER, .how = ABOVE,
				       .function = RECEIVE }) == 60, "kept");
}

/* What a profiler takes is not its own work; a handler that is the job is. */
static void handlers_in_a_job(void)
{
	begin_with_jobs();
	on_signal(event(0, &who_victim), START + 4030 * US, 27, SIGNALLED_BY_ITIMER);
	end_handler(event(0, &who_victim), START + 4230 * US);
	sleep_in(4240, NANOSLEEP);
	check(total_of((struct cause){ .kind = CAUSE_SIGNAL, .id = 27, .how = SIGNALLED_BY_ITIMER }) ==
	      200, "the handler");
	jobs_are(3, 0, 240, 30);
}

/* A condition begins its jobs, and it says which one is late. */
static void tells_its_jobs(void)
{
	begin(1);
	switch_tasks(0, 0, &who_idle, 1, &who_victim);
	for (u64 us = 0; us < 3000; us += 1000) {
		sleep_in(us + 30, PAUSE);
		wake_by(0, us + 1000);
		switch_tasks(0, us + 1010, &who_other, 1, &who_victim);
		on_job(&cpus[0], 0);
		if (us == 1000)
			on_job(&cpus[0], 1);
	}
	jobs_are(2, 1, 30, 20);
}

static void faults(void)
{
	begin(1);
	config.fault_overhead = 2 * US;
	switch_tasks(0, 0, &who_idle, 1, &who_victim);
	for (u64 us = 10; us < 50; us += 10) {
		push(event(0, &who_victim), START + us * US, FRAME_FAULT, CAUSE_FAULT, 0);
		pop(&cpus[0], START + (us + 7) * US, FRAME_FAULT);
	}
	switch_tasks(0, 60, &who_victim, 0, &who_idle);
	expect(24, 36, 0);
	check(row_of((struct cause){ .kind = CAUSE_FAULT })->count == 4, "faults");
	longest_is(39);		/* in a row */
}

/* A task that becomes real-time while it runs has its culprits on its own CPU. */
static void becomes_realtime(void)
{
	begin(1);
	config.realtime = 1;
	config.victims_are = VICTIMS_ALL;
	switch_tasks(1, 0, &who_idle, 1, &(struct who){ .tid = VICTIM, .priority = 120 });
	interrupt(1, 10, US, &who_victim);
	interrupt(1, 20, US, &who_victim);
	check(((struct victim *)store_find(&victims, &who_victim.tid))->task == TASK_STRUCT,
	      "it is not known whether it may run");
	switch_tasks(1, 30, &who_victim, 1, &who_above);
	for (u64 us = 30; us < 5030; us += 5)
		interrupt(1, us, US, &who_above);
	switch_tasks(1, 5030, &who_above, 0, &who_victim);
	check(total_of((struct cause){ .kind = CAUSE_TASK, .id = ABOVE }) == 4000, "by it");
}

/* The worst episode keeps its beginning and its end. */
static void keeps_both_ends(void)
{
	const struct episode *worst = &cpus[0].episode;

	begin(1);
	switch_tasks(0, 0, &who_idle, 1, &who_victim);
	switch_tasks(0, 10, &who_victim, 1, &who_above);
	for (u64 us = 11; us < 211; us++)
		interrupt(0, us, US / 2, &who_above);
	switch_tasks(0, 300, &who_above, 0, &who_victim);
	keep_episode(&cpus[0], 0);
	check(worst->length == 290 * US && worst->count > EPISODE_SEGMENTS, "%u parts", worst->count);
	check(worst->segments[0].end == START + 300 * US, "the end");
	check(worst->segments[episode_slot(worst->count - 1)].start == START + 10 * US, "the beginning");
}

int main(void)
{
	late_by_interrupts_off();
	late_by_a_little();
	woken_on_an_idle_cpu();
	late_by_a_softirq();
	blocked();
	blocked_without_quota();
	blocked_by_one_that_is_blocked();
	means_to_sleep();
	woken_late();
	waits_in_a_job();
	is_woken_in_a_softirq();
	handlers_in_a_job();
	tells_its_jobs();
	faults();
	becomes_realtime();
	keeps_both_ends();
	without_quota();
	network();
	throttled();
	preempted();
	waits_when_it_is_new();
	waits_on_a_cpu_without_events();
	woken_while_it_runs();
	runs_where_nobody_looks();
	waits_for_long();
	return 0;
}
