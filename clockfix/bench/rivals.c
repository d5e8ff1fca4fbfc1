// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * rivals.c - ways to be there at an instant
 *
 * Each rival does the same: from the end of one job, the next instant is one interval away; when
 * it has come the job reads CLOCK_MONOTONIC, first of all, and the difference is the sample. It
 * does so as any program does, by the PLT: after a sleep that costs misses of cache and TLB. CPU
 * time is that of the thread that waits and runs the job, the timer's submissions included.
 *
 * Intervals are spread by 64 ns to either side: a polling loop reads the clock each 20 ns or so,
 * and where that divides the interval it would meet each instant in the same phase, so that its
 * lateness would tell about the interval (from 22 to 46 ns at 985 to 1035 ns) and not about it.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
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

/* ---- all rivals -------------------------------------------------------------------------- */

static int64_t next_instant(struct cell *cell, int64_t now)
{
	/* xorshift64 */
	cell->random ^= cell->random << 13;
	cell->random ^= cell->random >> 7;
	cell->random ^= cell->random << 17;
	return now + cell->interval + (int64_t)(cell->random % 128) - 64;
}

static void note(struct cell *cell, int64_t late)
{
	if (cell->count < cell->limit)
		cell->late[cell->count++] = late;
}

static uint64_t warm_up(struct cell *cell)
{
	uint64_t jobs = cell->warm ? WARM_UP_AGAIN : WARM_UP;

	cell->warm = true;
	return jobs;
}

/* ---- those that wait in a thread of the caller's ----------------------------------------- */

/* Of a round of @cell, which began at @begin with @cpu of CPU time used. */
static void account(struct cell *cell, int64_t cpu, int64_t begin)
{
	cell->cpu += bench_clock(CLOCK_THREAD_CPUTIME_ID) - cpu;
	cell->elapsed += now_ns() - begin;
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
	for (uint64_t i = 0; i < own->jobs + warm; i++) {
		int64_t instant, now;

		if (i == warm) {
			cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID);
			begin = now_ns();
		}
		instant = next_instant(own->cell, now_ns());
		if (instant > own->until && i > warm)
			break;
		own->rival->wait(instant, own->cell->sleeper);
		now = now_ns();
		if (i >= warm)
			note(own->cell, now - instant);
	}
	if (begin)
		account(own->cell, cpu, begin);
	return NULL;
}

static int run_own(const struct rival *rival, const struct bench_options *opt,
		   struct cell *cell, uint64_t jobs, int64_t until)
{
	struct own own = { opt, cell, jobs, until, rival, 0 };
	pthread_t thread;
	int ret = 0;

	if (rival->wait == wait_sleep_until && !cell->sleeper)
		ret = clockfix_sleeper_create(&cell->sleeper, NULL);
	if (!ret)
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

static void chain_submit(struct chain *chain, struct clockfix *timer, int64_t now);

static void chain_job(void *arg, const struct clockfix_run *run)
{
	struct chain *chain = arg;
	int64_t now = now_ns();

	if (chain->done >= chain->warm)
		note(chain->cell, now - run->instant);
	if (++chain->done == chain->warm) {
		chain->cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID);
		chain->begin = now_ns();
	}
	now = now_ns();
	if (!--chain->left ||
	    (chain->done > chain->warm && now + chain->cell->interval > chain->until)) {
		account(chain->cell, chain->cpu, chain->begin);
		return;
	}
	chain_submit(chain, run->timer, now);
}

static void chain_submit(struct chain *chain, struct clockfix *timer, int64_t now)
{
	struct clockfix_spec spec;

	clockfix_spec_init(&spec);
	spec.start = next_instant(chain->cell, now);
	spec.fn = chain_job;
	spec.arg = chain;
	clockfix_schedule(timer, &spec, NULL);
}

static int create_timer(const struct rival *rival, const struct bench_options *opt,
			struct clockfix **timer)
{
	struct clockfix_options options;

	clockfix_options_init(&options);
	options.estimator = rival->estimator;
	options.cpu = opt->cpu;
	options.policy = opt->priority ? SCHED_FIFO : SCHED_OTHER;
	options.priority = opt->priority;
	return clockfix_create(timer, &options);
}

/* The timer stays from round to round, and what it has learned. */
static int run_clockfix(const struct rival *rival, const struct bench_options *opt,
			struct cell *cell, uint64_t jobs, int64_t until)
{
	struct chain chain = {
		.cell = cell, .warm = warm_up(cell), .until = until,
	};
	int ret;

	chain.left = jobs + chain.warm;
	if (!cell->timer) {
		ret = create_timer(rival, opt, &cell->timer);
		if (ret)
			return ret;
	}
	chain_submit(&chain, cell->timer, now_ns());
	return clockfix_drain(cell->timer);
}

int rival_run(const struct bench_options *opt, struct cell *cell, uint64_t jobs, int64_t until)
{
	const struct rival *rival = &rivals[cell->rival];

	return (rival->wait ? run_own : run_clockfix)(rival, opt, cell, jobs, until);
}

const struct rival rivals[] = {
	{ "poll", .wait = wait_poll },
	{ "clock_nanosleep", .wait = wait_clock_nanosleep },
	{ "nanosleep", .wait = wait_nanosleep },
	{ "futex", .wait = wait_futex },
	{ "margin-60us", .wait = wait_margin },
	{ "filter-none", .estimator = CLOCKFIX_ESTIMATOR_NONE },
	{ "filter-average", .estimator = CLOCKFIX_ESTIMATOR_AVERAGE },
	{ "filter-max", .estimator = CLOCKFIX_ESTIMATOR_MAXIMUM },
	{ "clockfix", .wait = NULL },
	{ "clockfix-sleep", .wait = wait_sleep_until },
};

const size_t rivals_count = sizeof(rivals) / sizeof(*rivals);
