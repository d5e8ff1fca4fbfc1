// SPDX-License-Identifier: LGPL-2.1-or-later
/* wait.c - be there at an instant */
#include <string.h>

#include <platform.h>

#include "wait.h"

#define COST_START	200	/* ns, until learning has been measured */
#define SLEEP_MIN	1000	/* ns: for less, going to sleep takes longer than the sleep */
#define FINAL		5000	/* ns of waiter_arrive(): enough to get ready with cold caches */
#define REHEARSED	300	/* ns: how far away the instant of a rehearsal is */
#define REHEARSAL	1500	/* ns that must be left for it */
#define TIGHT		200	/* ns: polled without pause instructions */
#define LATE		1000	/* ns: what is later counts as late */
#define SHARES_OF	256	/* jobs: what shares of late jobs and CPU time are told of */
#define ELAPSED_MOST	NSEC_PER_SEC	/* ns between jobs that count */
#define MEASURE_EACH	64	/* of so many sleeps one is measured for CPU time */
#define SLEEP_COST	10000	/* ns of CPU time, until one was */
#define AHEAD		1000000	/* ns: no sleep ends that late, if it can be helped */
#define AWAKE		20000000	/* ns: whoever has not slept for longer looks at its limit */
#define REST		50000	/* ns: a sleep that takes the thread off the CPU */
#define VERY_LATE	1000000	/* ns: somebody else had the CPU */
#define VERY_LATE_PPM	100000	/* of the last 64 jobs or so: then polling is of no use */
#define PLAIN		1000	/* waits without, before it is tried again */

void waiter_init(struct waiter *w, const struct clockfix_options *options,
		struct clockfix_stats *stats)
{
	memset(w, 0, sizeof(*w));
	estimator_init(&w->est, options);
	w->est.sleep_cost = SLEEP_COST;
	w->stats = stats;
	w->cost = COST_START * 8;
	w->last = pf_mono();
	w->rested = w->last;
}

static int64_t cost_of(const struct waiter *w)
{
	return w->cost / 8;
}

/* ---- learning --------------------------------------------------------------------------- */

static void learn(struct waiter *w)
{
	int64_t start = pf_mono(), took, most;

	estimator_learn(&w->est, w->oversleep, w->length);
	/* an exponential moving average, the second level of learning [IV.b]; a pause counts little */
	took = pf_mono() - start;
	most = 2 * cost_of(w) + COST_START;
	w->cost += (took < most ? took : most) - cost_of(w);
}

/* ---- sleeping --------------------------------------------------------------------------- */

/* What a sleep costs in CPU time: of the thread's what was not polling. Measured now and then. */
static void measure_sleep(struct waiter *w)
{
	int64_t took;

	if (!w->cpu)
		return;
	took = pf_cpu_time() - w->cpu - (pf_mono() - w->poll_start);
	w->cpu = 0;
	if (took > 0 && took < 4 * w->est.sleep_cost)
		w->est.sleep_cost += (took - w->est.sleep_cost) / 4;
	else if (took > 0)
		w->est.sleep_cost *= 2;
}

static void account_polling(struct waiter *w, int64_t now)
{
	stat_add(&w->stats->polled, now - w->poll_start);
}

int wake_sleep(struct wake *wake, uint32_t count, int64_t until, int64_t instant)
{
	int ret;

	atomic_store(&wake->instant, instant);
	atomic_store(&wake->sleeping, 1);
	ret = pf_futex_wait(&wake->count, count, until);
	atomic_store_explicit(&wake->sleeping, 0, memory_order_relaxed);
	return ret;
}

int64_t waiter_plan(struct waiter *w, int64_t instant, int64_t now)
{
	int64_t length = instant - now, until, margin, ready = cost_of(w);

	margin = estimator_predict(&w->est, length, length - ready - SLEEP_MIN) + ready;
	until = w->plain ? instant : instant - margin;
	if (until - now < SLEEP_MIN)
		return 0;
	if (until - now >= REST)
		w->rested = now;
	stat_add(&w->stats->sleeps, 1);
	w->cpu = w->sleeps++ % MEASURE_EACH ? 0 : pf_cpu_time();
	w->slept = true;
	w->length = length;
	w->until = until;
	return until;
}

int64_t waiter_woke(struct waiter *w, int64_t instant)
{
	int64_t now = pf_mono();

	w->oversleep = now > w->until ? now - w->until : 0;
	w->deferred = instant - now < 2 * cost_of(w);
	if (w->deferred)
		return now;
	learn(w);
	return pf_mono();
}

/* Sleep until shortly before @instant; *@now is the time. */
static int sleep_before(struct waiter *w, int64_t instant, int64_t *now, struct wake *wake,
			uint32_t count)
{
	int64_t until = waiter_plan(w, instant, *now);
	int ret = 0;

	if (!until)
		return 0;
	if (!wake)
		ret = pf_sleep(CLOCK_MONOTONIC, until);
	else if (wake_sleep(wake, count, until, instant) != -ETIMEDOUT)
		ret = WAIT_CHANGED;
	*now = ret ? pf_mono() : waiter_woke(w, instant);
	return ret;
}

/*
 * The kernel ends a real-time thread that has not slept for as long as RLIMIT_RTTIME says: at half
 * of that it sleeps, though this job may be late by it.
 */
static int rest(struct waiter *w, int64_t instant, int64_t *now, struct wake *wake, uint32_t count)
{
	int64_t until = *now + REST;
	int ret;

	if (*now - w->rested < pf_awake_limit() / 2)
		return 0;
	w->rested = until;
	ret = wake ? wake_sleep(wake, count, until, instant) : pf_sleep(CLOCK_MONOTONIC, until);
	*now = pf_mono();
	return ret == -ETIMEDOUT ? 0 : wake ? WAIT_CHANGED : ret;
}

/* ---- polling ---------------------------------------------------------------------------- */

static inline bool changed(const struct wake *wake, uint32_t count)
{
	return wake && atomic_load_explicit(&wake->count, memory_order_acquire) != count;
}

/* Poll until @instant, but for its end not tightly. */
static int poll_until(struct waiter *w, int64_t instant, int64_t tight, const struct wake *wake,
		      uint32_t count)
{
	int64_t now = pf_mono();

	while (now < instant) {
		if (changed(wake, count))
			return WAIT_CHANGED;
		if (instant - now > tight)
			pf_relax();
		now = pf_mono();
	}
	w->started = now;
	return 0;
}

/* ---- interface -------------------------------------------------------------------------- */

int waiter_near(struct waiter *w, int64_t instant, int64_t now, const struct wake *wake,
		uint32_t count)
{
	int ret;

	w->poll_start = now;
	/* when there is time, or none to lose */
	if (instant - now > 2 * FINAL || now >= instant)
		measure_sleep(w);
	ret = poll_until(w, instant - FINAL, 0, wake, count);
	if (ret)
		account_polling(w, pf_mono());
	return ret;
}

int waiter_approach(struct waiter *w, int64_t instant, struct wake *wake, uint32_t count)
{
	int64_t now = pf_mono();
	int ret = 0;

	if (now - w->rested > AWAKE)
		ret = rest(w, instant, &now, wake, count);
	w->started = now;
	w->poll_start = now;
	if (ret || now >= instant - FINAL)
		return ret;

	ret = sleep_before(w, instant, &now, wake, count);
	return ret ? ret : waiter_near(w, instant, now, wake, count);
}

int waiter_arrive(struct waiter *w, int64_t instant, const struct wake *wake, uint32_t count)
{
	int64_t soon = pf_mono() + REHEARSED;
	int ret = 0;

	if (instant - soon > REHEARSAL)
		ret = poll_until(w, soon, TIGHT, wake, count);
	if (!ret)
		ret = poll_until(w, instant, TIGHT, wake, count);
	if (ret)
		account_polling(w, pf_mono());
	return ret;
}

/* What the program can hold against its late_ppm and cpu_ppm. */
static void account_shares(struct waiter *w, int64_t late)
{
	int64_t elapsed = w->started - w->last, cpu = w->started - w->poll_start;

	w->last = w->started;
	if (elapsed > ELAPSED_MOST)
		elapsed = ELAPSED_MOST;
	cpu = (cpu < elapsed ? cpu : elapsed) + (w->slept ? w->est.sleep_cost : 0);
	w->late_share += ((late > LATE ? 1000000 * SHARES_OF : 0) - w->late_share) / SHARES_OF;
	w->cpu_share += cpu - w->cpu_share / SHARES_OF;
	w->elapsed += elapsed - w->elapsed / SHARES_OF;
	stat_add(&w->stats->late, late > LATE);
	stat_set(&w->stats->late_ppm, w->late_share / SHARES_OF);
	if (w->elapsed)
		stat_set(&w->stats->cpu_ppm, w->cpu_share * 1000000 / w->elapsed);
}

/* A thread that has to share its CPU, and has none left of its share when it is time, stops polling. */
static void account_very_late(struct waiter *w, int64_t late)
{
	if (w->plain) {
		w->plain--;
		return;
	}
	w->very_late += ((late > VERY_LATE ? 1000000 : 0) - w->very_late) / 64;
	if (w->very_late <= VERY_LATE_PPM || w->est.paper.kind)
		return;
	w->very_late = 0;
	if (pf_realtime())
		return;
	w->plain = PLAIN;
	stat_add(&w->stats->stopped, 1);
}

void waiter_ran(struct waiter *w, int64_t instant)
{
	int64_t late = w->started - instant + w->way_back;

	clockfix_histogram_add(&w->stats->lateness, late);
	account_polling(w, w->started);
	account_shares(w, late);
	account_very_late(w, late);
	stat_add(&w->stats->jobs, 1);
	if (w->deferred) {
		w->deferred = false;
		learn(w);
	} else if (!w->slept && cost_of(w) > COST_START) {
		/* nothing was learned: what learning costs is not known any better, either */
		w->cost -= cost_of(w) - COST_START;
	}
	w->slept = false;
}

void wake_wait(struct wake *wake, uint32_t count)
{
	int64_t last = atomic_load_explicit(&wake->instant, memory_order_relaxed);
	int64_t until = last - AHEAD;

	/* what is submitted for then wakes nobody: be back in time */
	if (last == INT64_MAX || until <= pf_mono())
		last = until = INT64_MAX;
	wake_sleep(wake, count, until, last);
}

void wake_notify(struct wake *wake, int64_t instant)
{
	atomic_fetch_add(&wake->count, 1);
	/* if it begins to sleep after this, it sees that the count has changed */
	if (atomic_load(&wake->sleeping) && instant < atomic_load(&wake->instant))
		pf_futex_wake(&wake->count);
}
