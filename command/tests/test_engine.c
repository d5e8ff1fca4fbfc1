// SPDX-License-Identifier: GPL-2.0-or-later
/* blame's accounting on events of two CPUs that are made up: each moment taken has a culprit. */
#include "blame/blame_types.h"

static unsigned int nr_limited;		/* so many of these have no quota */

#define IS_THROTTLED(victim) ((victim)->who.tid < 100 + nr_limited)

#include "blame/engine_stores.h"
#include "check.h"
#include "lib/text.h"

#include <string.h>

#define US 1000ull
#define START 1000000000ull

enum { VICTIM = 100, ABOVE = 101, OTHER = 200 };

static struct blame_config config;
static struct blame_lost lost;
static struct cpu cpus[2];
static struct store rows = {
	.key = sizeof(struct cause), .value = sizeof(struct row), .room = 100,
};
static struct store victims = { .key = sizeof(u32), .value = sizeof(struct victim), .room = 10 };
static struct store targets = { .key = sizeof(u32), .value = sizeof(u32), .room = 10 };
static struct store armed = { .key = sizeof(u64), .value = sizeof(struct armed), .room = 10 };
static struct store works = { .key = sizeof(u32), .value = sizeof(u64), .room = 10 };

#define FIND_CPU(number) ((number) < 2 ? &cpus[number] : NULL)

#include "blame/engine.h"

static const struct who who_victim = { .tid = VICTIM, .tgid = VICTIM, .priority = 49 };
static const struct who who_above = { .tid = ABOVE, .tgid = ABOVE, .priority = 39 };
static const struct who who_other = { .tid = OTHER, .tgid = OTHER, .priority = 29 };
static const struct who who_idle = { .priority = 120 };

/* Both CPUs idle, and so many targets from the victim on. */
static void begin(u32 count)
{
	u32 one = 1;

	store_clear(&rows);
	store_clear(&victims);
	store_clear(&targets);
	memset(cpus, 0, sizeof(cpus));
	memset(&config, 0, sizeof(config));
	config.started = START;
	config.on = 1;
	for (u32 id = VICTIM; id < VICTIM + count; id++)
		store_put(&targets, &id, &one);
}

static struct cpu *event(u32 number, const struct who *now_runs)
{
	cpus[number].events++;
	if (is_to_learn(&cpus[number]))
		learn_task(&cpus[number], number, now_runs, 0);
	return &cpus[number];
}

static void switch_tasks(u32 number, u64 us, const struct who *from, int runnable,
			 const struct who *to)
{
	on_switch(event(number, from), number, START + us * US, from, runnable, to, 0, 0);
}

static void wake(u64 us)
{
	on_wakeup(START + us * US, &who_victim, 0, 0);
	on_wakeup(START + us * US, &who_victim, 0, 1);
}

/* One on CPU 0. */
static void interrupt(u64 us, u64 ns, const struct who *now_runs)
{
	push(event(0, now_runs), START + us * US, FRAME_IRQ, CAUSE_IRQ, 1);
	before_pop(&cpus[0]);
	pop(event(0, now_runs), START + us * US + ns, FRAME_IRQ);
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

/* By a task; us. */
static u64 taken_by(u32 tid)
{
	return row_of((struct cause){ .kind = CAUSE_TASK, .id = tid })->total / US;
}

/* TAKEN us in all; nothing unexplained. */
static const struct victim *expect_taken(u64 taken)
{
	u32 id = VICTIM;
	const struct victim *victim = store_find(&victims, &id);
	u64 explained = 0;
	void *key, *value;

	check(victim, "the victim is not there");
	for (size_t i = 0; i < rows.slots; i++)
		if (store_slot(&rows, i, &key, &value) && ((struct cause *)key)->victim == VICTIM)
			explained += ((const struct row *)value)->total;
	check(victim->taken == taken * US, "taken %llu ns", (unsigned long long)victim->taken);
	check(explained == victim->taken, "explained %llu ns", (unsigned long long)explained);
	return victim;
}

/* TAKEN us, of it by OTHER, RAN us. */
static void expect(u64 ran, u64 taken, u64 by_other)
{
	const struct victim *victim = expect_taken(taken);

	check(victim->ran == ran * US, "ran %llu ns", (unsigned long long)victim->ran);
	check(taken_by(OTHER) == by_other, "by the other task");
}

static void preempted(void)
{
	begin(1);
	switch_tasks(0, 10, &who_idle, 1, &who_victim);
	switch_tasks(0, 30, &who_victim, 1, &who_other);
	switch_tasks(0, 70, &who_other, 0, &who_victim);
	switch_tasks(0, 80, &who_victim, 0, &who_idle);
	expect(30, 40, 40);
}

/* A CPU without an event since the start: what runs there has run all the time. */
static void waits_on_a_cpu_without_events(void)
{
	begin(1);
	switch_tasks(0, 10, &who_idle, 1, &who_victim);
	switch_tasks(0, 20, &who_victim, 0, &who_idle);
	on_migrate(START + 30 * US, VICTIM, 1);
	wake(30);
	switch_tasks(1, 530, &who_other, 0, &who_victim);
	switch_tasks(1, 540, &who_victim, 0, &who_idle);
	expect(20, 500, 500);
}

/* It is woken before it sleeps, and goes on running. */
static void woken_while_it_runs(void)
{
	begin(1);
	switch_tasks(0, 10, &who_idle, 1, &who_victim);
	wake(20);
	for (u64 us = 30; us < 130; us++)
		interrupt(us, US / 2, &who_victim);
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
	wake(2000);
	switch_tasks(1, 2010, &who_idle, 1, &who_victim);
	switch_tasks(1, 3000, &who_victim, 0, &who_idle);
	on_migrate(START + 4000 * US, VICTIM, 0);
	wake(4000);
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
		interrupt(us, US / 4, &who_above);
	}
	switch_tasks(0, 10010, &who_above, 0, &who_victim);
	expect_taken(10000);
	check(taken_by(ABOVE) == 7498, "%llu us by the other victim",
	      (unsigned long long)taken_by(ABOVE));
}

/* The scheduler passes over a FIFO task: that was throttled, whatever ran instead. */
static void throttled(void)
{
	static const struct who fair = { .tid = ABOVE, .tgid = ABOVE, .priority = 120 };
	const struct row *row;

	begin(1);
	switch_tasks(0, 0, &who_idle, 1, &who_victim);
	switch_tasks(0, 10, &who_victim, 1, &fair);
	interrupt(20, 5 * US, &fair);
	switch_tasks(0, 40, &fair, 1, &who_other);
	switch_tasks(0, 60, &who_other, 0, &who_victim);
	switch_tasks(0, 70, &who_victim, 0, &who_idle);
	/* what ran when it was woken is just slow to give way */
	switch_tasks(0, 80, &who_idle, 1, &fair);
	wake(100);
	switch_tasks(0, 104, &fair, 1, &who_victim);
	switch_tasks(0, 110, &who_victim, 0, &who_idle);
	expect(26, 54, 20);
	row = row_of((struct cause){ .kind = CAUSE_THROTTLED, .id = THROTTLE_RT });
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
	interrupt(100, US, &runners[0]);
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
	interrupt(20, 5 * US, &who_victim);
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

int main(void)
{
	without_quota();
	network();
	throttled();
	preempted();
	waits_on_a_cpu_without_events();
	woken_while_it_runs();
	runs_where_nobody_looks();
	waits_for_long();
	return 0;
}
