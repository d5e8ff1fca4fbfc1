// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * rivals.c - ways to be there at an instant
 *
 * Each rival does the same: from the end of one job, the next instant is one interval away; when
 * it has come the job reads CLOCK_MONOTONIC, first of all, and the difference is the sample. CPU
 * time is that of the thread that waits and runs the job, the timer's submissions included.
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

#define WARM_UP 100	/* jobs whose result is ignored, as in the paper */

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

/* ---- waits in a thread of their own ----------------------------------------------------- */

typedef void (*wait_fn)(int64_t instant, int64_t margin);

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
	int64_t until, margin;
	wait_fn wait;
	int ret;
};

static void note(struct cell *cell, int64_t now, int64_t instant)
{
	if (cell->count < cell->limit)
		cell->sample[cell->count++] = (struct sample){ now, now - instant };
}

static void *own_thread(void *arg)
{
	struct own *own = arg;
	int64_t cpu = 0, begin = 0;

	own->ret = thread_prepare(own->opt);
	if (own->ret)
		return NULL;
	for (uint64_t i = 0; i < own->jobs + WARM_UP && !interrupted; i++) {
		int64_t instant, now;

		if (i == WARM_UP) {
			cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID);
			begin = now_ns();
		}
		instant = now_ns() + own->cell->interval;
		if (instant > own->until && i > WARM_UP)
			break;
		own->wait(instant, own->margin);
		now = now_ns();
		if (i >= WARM_UP)
			note(own->cell, now, instant);
	}
	if (begin) {
		own->cell->cpu += bench_clock(CLOCK_THREAD_CPUTIME_ID) - cpu;
		own->cell->elapsed += now_ns() - begin;
	}
	return NULL;
}

static int run_own(wait_fn wait, const struct rival *rival, const struct bench_options *opt,
		   struct cell *cell, uint64_t jobs, int64_t until)
{
	struct own own = { opt, cell, jobs, until, rival->margin, wait, 0 };
	pthread_t thread;
	int ret;

	ret = -pthread_create(&thread, NULL, own_thread, &own);
	if (ret)
		return ret;
	pthread_join(thread, NULL);
	return own.ret;
}

#define OWN(name)										\
static int run_##name(const struct rival *rival, const struct bench_options *opt,		\
		      struct cell *cell, uint64_t jobs, int64_t until)				\
{												\
	return run_own(wait_##name, rival, opt, cell, jobs, until);				\
}

OWN(poll)
OWN(clock_nanosleep)
OWN(nanosleep)
OWN(futex)
OWN(margin)

/* ---- clockfix --------------------------------------------------------------------------- */

struct chain {
	struct cell *cell;
	uint64_t left, done;
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

	if (chain->done >= WARM_UP)
		note(chain->cell, now, run->instant);
	if (++chain->done == WARM_UP) {
		chain->cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID);
		chain->begin = now_ns();
	}
	now = now_ns();
	if (!--chain->left || interrupted ||
	    (chain->done > WARM_UP && now + chain->cell->interval > chain->until)) {
		chain_end(chain);
		return;
	}
	clockfix_submit(run->timer, now + chain->cell->interval, chain_job, chain, NULL);
}

static int run_clockfix(const struct rival *rival, const struct bench_options *opt,
			struct cell *cell, uint64_t jobs, int64_t until)
{
	struct chain chain = { .cell = cell, .left = jobs + WARM_UP, .until = until };
	struct clockfix_options options;
	struct clockfix *timer;
	int ret;

	clockfix_options_init(&options);
	options.flags = CLOCKFIX_STRICT;
	options.cpu = opt->cpu;
	options.policy = opt->priority ? SCHED_FIFO : SCHED_OTHER;
	options.priority = opt->priority;
	options.estimator = rival->estimator;
	options.late_ppm = opt->late_ppm;
	options.source = rival->source;
	options.fixed_margin = rival->margin;
	ret = clockfix_create(&timer, &options);
	if (ret)
		return ret;
	ret = clockfix_submit(timer, now_ns() + cell->interval, chain_job, &chain, NULL);
	clockfix_destroy(timer, 0);
	return ret;
}

const struct rival rivals[] = {
	{
		.name = "poll",
		.text = "polling loop on clock_gettime()",
		.run = run_poll,
	},
	{
		.name = "clock_nanosleep",
		.text = "clock_nanosleep(), absolute",
		.run = run_clock_nanosleep,
	},
	{
		.name = "nanosleep",
		.text = "nanosleep()",
		.run = run_nanosleep,
	},
	{
		.name = "futex",
		.text = "futex wait with a timeout",
		.run = run_futex,
	},
	{
		.name = "margin-125us",
		.text = "clock_nanosleep() until 125 us before, then polling",
		.run = run_margin,
		.margin = 125000,
	},
	{
		.name = "clockfix-none",
		.text = "clockfix without prediction",
		.run = run_clockfix,
		.estimator = CLOCKFIX_ESTIMATOR_NONE,
	},
	{
		.name = "clockfix-average",
		.text = "clockfix, the paper's average filter",
		.run = run_clockfix,
		.estimator = CLOCKFIX_ESTIMATOR_AVERAGE,
	},
	{
		.name = "clockfix-max",
		.text = "clockfix, the paper's maximum filter",
		.run = run_clockfix,
		.estimator = CLOCKFIX_ESTIMATOR_MAX,
	},
	{
		.name = "clockfix-quantile",
		.text = "clockfix, quantile tracker",
		.run = run_clockfix,
		.estimator = CLOCKFIX_ESTIMATOR_QUANTILE,
	},
	{
		.name = "clockfix-decaying",
		.text = "clockfix, decaying maximum",
		.run = run_clockfix,
		.estimator = CLOCKFIX_ESTIMATOR_DECAYING_MAX,
	},
	{
		.name = "clockfix-rank",
		.text = "clockfix, rank in a window",
		.run = run_clockfix,
		.estimator = CLOCKFIX_ESTIMATOR_RANK,
	},
	{
		.name = "clockfix",
		.text = "clockfix as it comes",
		.run = run_clockfix,
		.estimator = CLOCKFIX_ESTIMATOR_DEFAULT,
	},
	{
		.name = "clockfix-clock",
		.text = "clockfix, polling clock_gettime()",
		.run = run_clockfix,
		.source = CLOCKFIX_SOURCE_CLOCK,
	},
};

const size_t rivals_count = sizeof(rivals) / sizeof(*rivals);
