// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "situation.h"
#include "shield.h"

#include <sys/wait.h>

struct situation *situation_new(void)
{
	struct situation *s = shared_memory(sizeof(*s));

	pin(test_cpu);
	become(FIFO(99));
	situation_start(s, LEAD);
	return s;
}

void situation_start(struct situation *s, u64 lead)
{
	s->expiry = now() + lead;
	s->hog_ends = s->expiry + HOG;
}

void sleep_to_expiry(struct situation *s)
{
	sleep_until(s->expiry);
	woken(s);
}

void spin_to_the_end(const struct situation *s)
{
	u64 time;

	while ((time = now()) < __atomic_load_n(&s->hog_ends, __ATOMIC_RELAXED))
		let_other_cpus_run(time);
}

u64 situation_lateness(struct situation *s)
{
	u64 late;

	require(now() < s->expiry, "prepared too late");
	STARTED(HOG_POLICY) spin_to_the_end(s);
	sleep_until(s->hog_ends + LEAD);
	require(s->woke, "the task that waits was never woken");
	require(s->woke >= s->expiry, "it was woken early");
	late = s->woke - s->expiry;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return late;
}

static struct {
	u64 tolerance;
	u64 off;		/* how late with the shield off, ns */
	bool on;		/* now */
	bool again;		/* this play does not count */
} comparison;

struct situation *comparison_begin(u64 tolerance, struct policy softirq_threads)
{
	set_softirq_threads(0, softirq_threads);
	shield_set(false);
	comparison.tolerance = tolerance;
	comparison.on = false;
	comparison.again = true;
	return situation_new();
}

struct situation *comparison_next(struct situation *s)
{
	u64 late = s->late ?: situation_lateness(s);

	if (comparison.again) {
		comparison.again = false;
		return situation_new();
	}
	if (!comparison.on) {
		comparison.off = late;
		comparison.on = true;
		/* Lockdep takes its time where it has not been before. */
		comparison.again = slowness() > 1;
		shield_set(true);
		return situation_new();
	}
	note("%llu ns late, %llu with the shield off", late, comparison.off);
	check(late <= comparison.off + comparison.tolerance,
	      "%llu ns late, %llu with the shield off", late, comparison.off);
	set_softirq_threads(0, OTHER);
	return NULL;
}
