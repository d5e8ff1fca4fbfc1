// SPDX-License-Identifier: GPL-2.0-or-later
/* blame's accounting on events of two CPUs that are made up: each moment taken has a culprit. */
#include "blame/blame_types.h"

static unsigned int without_quota;	/* so many of these */

#define IS_THROTTLED(victim) ((victim)->who.tid < 100 + without_quota)

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

/* Both CPUs idle; the victim is the only target. */
static void begin(void)
{
	u32 id = VICTIM, one = 1;

	store_clear(&rows);
	store_clear(&victims);
	memset(cpus, 0, sizeof(cpus));
	memset(&config, 0, sizeof(config));
	config.started = START;
	config.on = 1;
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

static const struct victim *found(void)
{
	u32 id = VICTIM;
	const struct victim *victim = store_find(&victims, &id);

	check(victim, "the victim is not there");
	return victim;
}

/* TAKEN us by OTHER, RAN us; nothing unexplained. */
static void expect(u64 ran, u64 taken, u64 by_other)
{
	struct cause cause = { .victim = VICTIM, .kind = CAUSE_TASK, .id = OTHER };
	const struct row *row = store_find(&rows, &cause);
	const struct victim *victim = found();
	u64 explained = 0;
	void *key, *value;

	for (size_t i = 0; i < rows.slots; i++)
		if (store_slot(&rows, i, &key, &value))
			explained += ((const struct row *)value)->total;
	check(victim->ran == ran * US, "ran %llu ns", (unsigned long long)victim->ran);
	check(victim->taken == taken * US, "taken %llu ns", (unsigned long long)victim->taken);
	check(explained == victim->taken, "explained %llu ns", (unsigned long long)explained);
	check((row ? row->total : 0) == by_other * US, "by the other task");
}

static void preempted(void)
{
	begin();
	switch_tasks(0, 10, &who_idle, 1, &who_victim);
	switch_tasks(0, 30, &who_victim, 1, &who_other);
	switch_tasks(0, 70, &who_other, 0, &who_victim);
	switch_tasks(0, 80, &who_victim, 0, &who_idle);
	expect(30, 40, 40);
}

/* A CPU without an event since the start: what runs there has run all the time. */
static void waits_on_a_cpu_without_events(void)
{
	begin();
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
	begin();
	switch_tasks(0, 10, &who_idle, 1, &who_victim);
	wake(20);
	for (u64 us = 30; us < 130; us++) {
		push(event(0, &who_victim), START + us * US, FRAME_IRQ, CAUSE_IRQ, 1);
		pop(event(0, &who_victim), START + us * US + US / 2, FRAME_IRQ);
	}
	switch_tasks(0, 130, &who_victim, 0, &who_idle);
	expect(70, 50, 0);
}

/* What happens on other CPUs than those that are looked at is no wait. */
static void runs_where_nobody_looks(void)
{
	begin();
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

/* More happens while it waits than is kept. */
static void waits_for_long(void)
{
	begin();
	switch_tasks(0, 0, &who_idle, 1, &who_victim);
	switch_tasks(0, 10, &who_victim, 1, &who_other);
	for (u64 us = 10; us < 10010; us++) {
		push(event(0, &who_other), START + us * US, FRAME_IRQ, CAUSE_IRQ, 1);
		pop(event(0, &who_other), START + us * US + US / 4, FRAME_IRQ);
	}
	switch_tasks(0, 10010, &who_other, 0, &who_victim);
	expect(10, 10000, 7500);
}

/* Another victim, which keeps it waiting, is preempted for a moment itself. */
static void waits_below_another_victim(void)
{
	u32 above = ABOVE, one = 1;
	const struct victim *victim;
	u64 explained = 0;
	void *key, *value;

	begin();
	store_put(&targets, &above, &one);
	switch_tasks(0, 0, &who_idle, 1, &who_victim);
	switch_tasks(0, 10, &who_victim, 1, &who_above);
	for (u64 us = 10; us < 10010; us++) {
		if (us == 2010)
			switch_tasks(0, us, &who_above, 1, &who_other);
		else if (us == 2011)
			switch_tasks(0, us, &who_other, 0, &who_above);
		push(event(0, &who_above), START + us * US, FRAME_IRQ, CAUSE_IRQ, 1);
		pop(event(0, &who_above), START + us * US + US / 4, FRAME_IRQ);
	}
	switch_tasks(0, 10010, &who_above, 0, &who_victim);
	store_remove(&targets, &above);
	victim = found();
	for (size_t i = 0; i < rows.slots; i++)
		if (store_slot(&rows, i, &key, &value) && ((struct cause *)key)->victim == VICTIM)
			explained += ((const struct row *)value)->total;
	check(victim->taken == 10000 * US, "taken %llu ns", (unsigned long long)victim->taken);
	check(explained == victim->taken, "explained %llu ns", (unsigned long long)explained);
}

/* The scheduler passes over a FIFO task: that was throttled, whatever ran instead. */
static void throttled(void)
{
	static const struct who fair = { .tid = ABOVE, .tgid = ABOVE, .priority = 120 };
	struct cause cause = { .victim = VICTIM, .kind = CAUSE_THROTTLED, .id = THROTTLE_RT };
	const struct row *row;

	begin();
	switch_tasks(0, 0, &who_idle, 1, &who_victim);
	switch_tasks(0, 10, &who_victim, 1, &fair);
	push(event(0, &fair), START + 20 * US, FRAME_IRQ, CAUSE_IRQ, 1);
	pop(event(0, &fair), START + 25 * US, FRAME_IRQ);
	switch_tasks(0, 40, &fair, 1, &who_other);
	switch_tasks(0, 60, &who_other, 0, &who_victim);
	switch_tasks(0, 70, &who_victim, 0, &who_idle);
	/* what ran when it was woken is just slow to give way */
	switch_tasks(0, 80, &who_idle, 1, &fair);
	wake(100);
	switch_tasks(0, 104, &fair, 1, &who_victim);
	switch_tasks(0, 110, &who_victim, 0, &who_idle);
	expect(26, 54, 20);
	row = store_find(&rows, &cause);
	check(row && row->total == 30 * US && row->count == 1, "throttled");
}

/* Two other victims take turns while it has no quota, and keep it waiting when it has one again. */
static void without_quota_among_others(void)
{
	static const struct who limited = { .tid = VICTIM, .tgid = VICTIM, .priority = 120 },
				one = { .tid = ABOVE, .tgid = ABOVE, .priority = 120 },
				two = { .tid = OTHER, .tgid = OTHER, .priority = 120 };
	struct cause cause = { .victim = VICTIM, .kind = CAUSE_THROTTLED, .id = THROTTLE_QUOTA };
	const u32 ids[] = { ABOVE, OTHER }, yes = 1;
	const struct row *row;

	begin();
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		store_put(&targets, &ids[i], &yes);
	switch_tasks(0, 0, &who_idle, 1, &limited);
	without_quota = 1;
	switch_tasks(0, 20, &limited, 1, &one);
	for (u64 us = 30; us < 100; us += 20) {
		switch_tasks(0, us, &one, 1, &two);
		switch_tasks(0, us + 10, &two, 1, &one);
	}
	without_quota = 0;
	push(event(0, &one), START + 100 * US, FRAME_IRQ, CAUSE_IRQ, 1);
	before_pop(&cpus[0]);
	pop(event(0, &one), START + 101 * US, FRAME_IRQ);
	switch_tasks(0, 110, &one, 1, &two);
	switch_tasks(0, 120, &two, 1, &limited);
	row = store_find(&rows, &cause);
	check(row && row->total == 80 * US, "waited %llu ns for its quota",
	      (unsigned long long)(row ? row->total : 0));
	check(found()->taken == 100 * US, "taken %llu ns", (unsigned long long)found()->taken);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		store_remove(&targets, &ids[i]);
}

/* More of them than wait for their turns at most: each waits for its quota until all have one. */
static void several_without_quota(void)
{
	static const struct who runner = { .tid = 300, .tgid = 300, .priority = 120 };
	struct who limited[5] = { 0 };
	u32 yes = 1;

	begin();
	for (u32 i = 0; i < ARRAY_SIZE(limited); i++) {
		limited[i] = (struct who){ .tid = VICTIM + i, .tgid = VICTIM, .priority = 120 };
		store_put(&targets, &limited[i].tid, &yes);
		switch_tasks(0, 10 * i, i ? &limited[i - 1] : &who_idle, 1, &limited[i]);
		without_quota = i + 1;
	}
	switch_tasks(0, 50, &limited[4], 1, &runner);
	without_quota = 0;
	push(event(0, &runner), START + 100 * US, FRAME_IRQ, CAUSE_IRQ, 1);
	before_pop(&cpus[0]);
	pop(event(0, &runner), START + 101 * US, FRAME_IRQ);
	check(!cpus[0].nr_limited, "%u have no quota", cpus[0].nr_limited);
	for (u32 i = 0; i < ARRAY_SIZE(limited); i++)
		switch_tasks(0, 110 + 10 * i, i ? &limited[i - 1] : &runner, !i, &limited[i]);
	for (u32 i = 0; i < ARRAY_SIZE(limited); i++) {
		struct cause cause = { .victim = limited[i].tid, .kind = CAUSE_THROTTLED,
				       .id = THROTTLE_QUOTA };
		const struct row *row = store_find(&rows, &cause);

		check(row && row->total == (90 - 10 * i) * US, "number %u waited %llu ns for it", i,
		      (unsigned long long)(row ? row->total : 0));
		store_remove(&targets, &limited[i].tid);
	}
}

/* Two devices are polled in a softirq, and an interrupt comes in between. */
static void network(void)
{
	static const struct who first = { .comm = "first" }, second = { .comm = "second" };
	static const u64 totals[] = { 10, 30, 25 };	/* until the interrupt; by device */
	struct cpu *cpu;

	begin();
	switch_tasks(0, 0, &who_idle, 1, &who_victim);
	cpu = event(0, &who_victim);
	on_poll(cpu, START + 5 * US, &first, 1);	/* a task polls it itself */
	push(cpu, START + 10 * US, FRAME_SOFTIRQ, CAUSE_SOFTIRQ, NET_RX);
	push(cpu, START + 20 * US, FRAME_IRQ, CAUSE_IRQ, 1);
	pop(cpu, START + 25 * US, FRAME_IRQ);
	on_poll(cpu, START + 55 * US, &first, 1);
	on_poll(cpu, START + 75 * US, &second, 2);
	pop(cpu, START + 80 * US, FRAME_SOFTIRQ);
	switch_tasks(0, 100, &who_victim, 0, &who_idle);
	for (u32 i = 0; i < ARRAY_SIZE(totals); i++) {
		struct cause cause = {
			.victim = VICTIM, .kind = CAUSE_SOFTIRQ, .id = NET_RX, .how = i,
		};
		const struct row *row = store_find(&rows, &cause);

		check(row && row->total == totals[i] * US && row->count == !!i, "device %u", i);
	}
	expect(30, 70, 0);
}

int main(void)
{
	several_without_quota();
	network();
	without_quota_among_others();
	throttled();
	preempted();
	waits_on_a_cpu_without_events();
	woken_while_it_runs();
	runs_where_nobody_looks();
	waits_for_long();
	waits_below_another_victim();
	return 0;
}
