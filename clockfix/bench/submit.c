// SPDX-License-Identifier: LGPL-2.1-or-later
/* submit.c - what a submission costs */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define HOUR 3600000000000LL

static void nothing(void *arg, const struct clockfix_run *run)
{
	(void)arg;
	(void)run;
}

static uint64_t random64(void)
{
	static _Thread_local uint64_t x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static int64_t clock_cost(void)
{
	int64_t cost[1001];

	for (int i = 0; i < 1001; i++) {
		int64_t t = now_ns();

		cost[i] = now_ns() - t;
	}
	sort_ns(cost, 1001);
	return cost[500];
}

static void print_costs(const char *what, int64_t *cost, size_t count)
{
	sort_ns(cost, count);
	printf("%-38s %8zu %7lld %7lld %7lld %9lld\n", what, count, (long long)cost[count / 2],
	       (long long)cost[count * 95 / 100], (long long)cost[count * 99 / 100],
	       (long long)cost[count - 1]);
}

struct measurement {
	const struct bench_options *opt;
	struct clockfix *timer;
	size_t pending;
	int64_t overhead;
	int ret;
};

/* Submit and cancel at random instants with others waiting. */
static void *measure_thread(void *arg)
{
	enum { COUNT = 100000 };
	static int64_t submit[COUNT], cancel[COUNT];
	struct measurement *m = arg;
	clockfix_job job;
	char what[64];

	m->ret = thread_prepare(m->opt);
	for (size_t i = 0; i < m->pending && !m->ret; i++)
		m->ret = clockfix_submit(m->timer, now_ns() + HOUR + random64() % HOUR, nothing,
					 NULL, NULL);
	for (size_t i = 0; i < COUNT && !m->ret; i++) {
		int64_t instant = now_ns() + HOUR + random64() % HOUR, t0, t1, t2;

		t0 = now_ns();
		m->ret = clockfix_submit(m->timer, instant, nothing, NULL, &job);
		t1 = now_ns();
		clockfix_cancel(m->timer, job);
		t2 = now_ns();
		submit[i] = t1 - t0 - m->overhead;
		cancel[i] = t2 - t1 - m->overhead;
	}
	if (m->ret)
		return NULL;
	snprintf(what, sizeof(what), "submit, %zu pending", m->pending);
	print_costs(what, submit, COUNT);
	snprintf(what, sizeof(what), "cancel, %zu pending", m->pending);
	print_costs(what, cancel, COUNT);
	return NULL;
}

static int other_cpu(int cpu)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return -1;
	for (int i = 0; i < CPU_SETSIZE; i++) {
		if (i != cpu && CPU_ISSET(i, &set))
			return i;
	}
	return -1;
}

static int measure(const struct bench_options *opt, size_t pending, int64_t overhead)
{
	struct measurement m = { .opt = opt, .pending = pending, .overhead = overhead };
	struct clockfix_options options;
	pthread_t thread;
	int ret;

	clockfix_options_init(&options);
	options.max_jobs = pending + 1000;
	/* the worker must get to see what it is woken for */
	options.cpu = other_cpu(opt->cpu);
	options.policy = opt->priority ? SCHED_FIFO : SCHED_OTHER;
	options.priority = opt->priority;
	ret = clockfix_create(&m.timer, &options);
	if (ret)
		return ret;
	ret = -pthread_create(&thread, NULL, measure_thread, &m);
	if (!ret) {
		pthread_join(thread, NULL);
		ret = m.ret;
	}
	clockfix_destroy(m.timer, CLOCKFIX_DROP_PENDING);
	return ret;
}

int verb_submit(const struct bench_options *opt, int argc, char **argv)
{
	static const size_t pending[] = { 0, 10, 100, 1000, 10000, 100000, 1000000 };
	int64_t overhead = clock_cost();
	int ret = 0;

	if (argc > 1) {
		fprintf(stderr, "clockfix-bench: submit takes no argument '%s'\n", argv[1]);
		return 2;
	}
	printf("ns; the cost of reading the clock, %lld ns, is subtracted from submit and cancel\n",
	       (long long)overhead);
	printf("%-38s %8s %7s %7s %7s %9s\n", "", "count", "p50", "p95", "p99", "max");
	for (size_t i = 0; i < sizeof(pending) / sizeof(*pending) && !ret && !interrupted; i++)
		ret = measure(opt, pending[i], overhead);
	if (ret)
		fprintf(stderr, "clockfix-bench: submit: %s\n", strerror(-ret));
	return ret ? 1 : 0;
}
