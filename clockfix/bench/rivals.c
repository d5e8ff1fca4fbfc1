// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * rivals.c - ways to be there at an instant
 *
 * Each rival does the same: from the end of one job, the next instant is one interval away; when
 * it has come the job reads CLOCK_MONOTONIC, first of all, and the difference is the sample. CPU
 * time is that of the thread that waits and runs the job, the timer's submissions included.
 *
 * Intervals are spread by 64 ns to either side: a polling loop reads the clock each 20 ns or so,
 * and where that divides the interval it would meet each instant in the same phase, so that its
 * lateness would tell about the interval (from 22 to 46 ns at 985 to 1035 ns) and not about it.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"

#define WARM_UP		100	/* jobs whose result is ignored, as in the paper */
#define WARM_UP_AGAIN	5	/* in a later round, when the rival has learned before */

int thread_prepare(const struct bench_options *opt)
{
	struct sched_param param = { .sched_priority = opt->priority };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(opt->cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return -errno;
	if (opt->priority && sched_setscheduler(0, SCHED_FIFO, &param))
		return -errno;
	prctl(PR_SET_TIMERSLACK, 1UL);
	return 0;
}

static struct timespec to_timespec(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
}

/* ---- all rivals -------------------------------------------------------------------------- */

static int64_t next_instant(struct cell *cell, int64_t now)
{
	/* xorshift64 */
	cell->random ^= cell->random << 13;
	cell->random ^= cell->random >> 7;
	cell->random ^= cell->random << 17;
	return now + cell->interval + (int64_t)(cell->random % 128) - 64;
}

static void note(struct cell *cell, int64_t now, int64_t instant)
{
	if (cell->count < cell->limit)
		cell->sample[cell->count++] = (struct sample){ now, now - instant };
}

static uint64_t warm_up(struct cell *cell)
{
	uint64_t jobs = cell->warm ? WARM_UP_AGAIN : WARM_UP;

	cell->warm = true;
	return jobs;
}

/* ---- waits in a thread of their own ----------------------------------------------------- */

static void wait_poll(int64_t instant, int64_t margin)
{
	(void)margin;
	while (now_ns() < instant)
		;
}

static void wait_clock_nanosleep(int64_t instant, int64_t margin)
{
	struct timespec ts = to_timespec(instant);

	(void)margin;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

static void wait_nanosleep(int64_t instant, int64_t margin)
{
	int64_t left = instant - now_ns();
	struct timespec ts = to_timespec(left > 0 ? left : 0);

	(void)margin;
	nanosleep(&ts, NULL);
}

static void wait_futex(int64_t instant, int64_t margin)
{
	static uint32_t word;
	struct timespec ts = to_timespec(instant);

	(void)margin;
	syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, &ts, NULL,
		FUTEX_BITSET_MATCH_ANY);
}

static void wait_margin(int64_t instant, int64_t margin)
{
	struct timespec ts = to_timespec(instant - margin);

	if (now_ns() < instant - margin)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
	wait_poll(instant, 0);
}

struct own {
	const struct bench_options *opt;
	struct cell *cell;
	uint64_t jobs;
	int64_t until;
	const struct rival *rival;
	int ret;
};

static void *own_thread(void *arg)
{
	struct own *own = arg;
	uint64_t warm = warm_up(own->cell);
	int64_t cpu = 0, begin = 0;

	own->ret = thread_prepare(own->opt);
	if (own->ret)
		return NULL;
	for (uint64_t i = 0; i < own->jobs + warm && !interrupted; i++) {
		int64_t instant, now;

		if (i == warm) {
			cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID);
			begin = now_ns();
		}
		instant = next_instant(own->cell, now_ns());
		if (instant > own->until && i > warm)
			break;
		own->rival->wait(instant, own->rival->margin);
		now = now_ns();
		if (i >= warm)
			note(own->cell, now, instant);
	}
	if (begin) {
		own->cell->cpu += bench_clock(CLOCK_THREAD_CPUTIME_ID) - cpu;
		own->cell->elapsed += now_ns() - begin;
	}
	return NULL;
}

static int run_own(const struct rival *rival, const struct bench_options *opt,
		   struct cell *cell, uint64_t jobs, int64_t until)
{
	struct own own = { opt, cell, jobs, until, rival, 0 };
	pthread_t thread;
	int ret;

	ret = -pthread_create(&thread, NULL, own_thread, &own);
	if (ret)
		return ret;
	pthread_join(thread, NULL);
	return own.ret;
}

/* ---- clockfix --------------------------------------------------------------------------- */

struct chain {
	struct cell *cell;
	uint64_t warm, left, done;
	int64_t until, cpu, begin;
};

static void chain_end(struct chain *chain)
{
	chain->cell->cpu += bench_clock(CLOCK_THREAD_CPUTIME_ID) - chain->cpu;
	chain->cell->elapsed += now_ns() - chain->begin;
}

static void chain_job(void *arg, const struct clockfix_run *run)
{
	int64_t now = now_ns();
	struct chain *chain = arg;

	if (chain->done >= chain->warm)
		note(chain->cell, now, run->instant);
	if (++chain->done == chain->warm) {
		chain->cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID);
		chain->begin = now_ns();
	}
	now = now_ns();
	if (!--chain->left || interrupted ||
	    (chain->done > chain->warm && now + chain->cell->interval > chain->until)) {
		chain_end(chain);
		return;
	}
	clockfix_submit(run->timer, next_instant(chain->cell, now), chain_job, chain, NULL);
}

static int create_timer(const struct rival *rival, const struct bench_options *opt,
			struct clockfix **timer)
{
	struct clockfix_options options;

	clockfix_options_init(&options);
	options.flags = CLOCKFIX_STRICT;
	options.cpu = opt->cpu;
	options.policy = opt->priority ? SCHED_FIFO : SCHED_OTHER;
	options.priority = opt->priority;
	options.estimator = rival->estimator;
	options.window = rival->window;
	options.late_ppm = rival->late_ppm ? rival->late_ppm : opt->late_ppm;
	options.source = rival->source;
	options.fixed_margin = rival->margin;
	return clockfix_create(timer, &options);
}

/* The timer stays from round to round, and what it has learned. */
static int run_clockfix(const struct rival *rival, const struct bench_options *opt,
			struct cell *cell, uint64_t jobs, int64_t until)
{
	struct chain chain = { .cell = cell, .warm = warm_up(cell), .until = until };
	int ret;

	chain.left = jobs + chain.warm;
	if (!cell->timer) {
		ret = create_timer(rival, opt, &cell->timer);
		if (ret)
			return ret;
	}
	ret = clockfix_submit(cell->timer, next_instant(cell, now_ns()), chain_job, &chain, NULL);
	clockfix_drain(cell->timer);
	return ret;
}

int rival_run(const struct bench_options *opt, struct cell *cell, uint64_t jobs, int64_t until)
{
	const struct rival *rival = &rivals[cell->rival];

	return (rival->wait ? run_own : run_clockfix)(rival, opt, cell, jobs, until);
}

#define EST(name) .estimator = CLOCKFIX_ESTIMATOR_##name

const struct rival rivals[] = {
	{ "poll", "polling loop on clock_gettime()", .wait = wait_poll },
	{ "clock_nanosleep", "clock_nanosleep(), absolute", .wait = wait_clock_nanosleep },
	{ "nanosleep", "nanosleep()", .wait = wait_nanosleep },
	{ "futex", "futex wait with a timeout", .wait = wait_futex },
	{ "margin-125us", "clock_nanosleep() until 125 us before, then polling",
	  .wait = wait_margin, .margin = 125000 },
	{ "clockfix-none", "clockfix, no prediction", EST(NONE) },
	{ "clockfix-average", "clockfix, the paper's average filter", EST(AVERAGE) },
	{ "clockfix-max", "clockfix, the paper's maximum filter", EST(MAX) },
	{ "clockfix-max-256", "clockfix, a maximum filter over 256", EST(MAX), .window = 256 },
	{ "clockfix-quantile", "clockfix, quantile tracker", EST(QUANTILE) },
	{ "clockfix-decaying", "clockfix, decaying maximum", EST(DECAYING_MAX) },
	{ "clockfix-rank", "clockfix, rank in a window", EST(RANK) },
	{ "clockfix", "clockfix, as it comes", EST(DEFAULT) },
	{ "clockfix-punctual", "clockfix, late_ppm 5000", .late_ppm = 5000 },
	{ "clockfix-clock", "clockfix, polling clock_gettime()",
	  .source = CLOCKFIX_SOURCE_CLOCK },
};

const size_t rivals_count = sizeof(rivals) / sizeof(*rivals);
