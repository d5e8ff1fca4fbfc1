// SPDX-License-Identifier: GPL-2.0-or-later
#include "loop.h"

#include "blame/source.h"
#include "blame/session.h"
#include "loop/control_loop.h"
#include "loop/loads.h"

#include <sched.h>
#include <time.h>

#define FIRST_NS 1000000

static void note_worst(struct loop *loop, u64 expected, u64 actual)
{
	struct wakeup *least = &loop->worst[0], wakeup = { expected, actual };
	unsigned int filled;

	for (unsigned int i = 1; i < WORST; i++)
		if (loop->worst[i].actual - loop->worst[i].expected <
		    least->actual - least->expected)
			least = &loop->worst[i];
	if (actual - expected <= least->actual - least->expected)
		return;
	*least = wakeup;
	filled = atomic_load_explicit(&loop->filled, memory_order_relaxed);
	loop->candidates[filled % CANDIDATES] = wakeup;
	atomic_store_explicit(&loop->filled, filled + 1, memory_order_release);
}

static void note_wakeup(struct loop *loop, u64 expected, u64 actual)
{
	u64 late = actual - expected, bucket = (late + 999) / 1000;

	loop->wakeups++;
	loop->total += late;
	if (late < loop->shortest)
		loop->shortest = late;
	if (late > loop->longest) {
		loop->longest = late;
		atomic_store_explicit(&loop->latest, late, memory_order_relaxed);
	}
	loop->histogram[bucket < HISTOGRAM_US ? bucket : HISTOGRAM_US - 1]++;
	note_worst(loop, expected, actual);
}

/* Reads the clock until END, for half of the interval. */
static void spin(struct loop *loop, u64 start, u64 end)
{
	u64 before = start, read = loop->read, now;

	for (; before < end; before = now) {
		now = monotonic_now();
		if (now - before <= 4 * read + 200)
			continue;
		loop->lost += now - before - read;
		loop->gaps++;
		if (now - before - read > loop->longest_gap)
			loop->longest_gap = now - before - read;
	}
	loop->spun += before - start;
}

static bool wake_up(void *self, struct job *job)
{
	struct loop *loop = self;
	u64 expected = (u64)job->due, actual = expected + (u64)job->latency;

	note_wakeup(loop, expected, actual);
	spin(loop, actual, expected + loop->interval / 2);
	return expected + loop->interval < loop->end && !atomic_load(&loop->stop);
}

static void measure(struct loop *loop)
{
	struct periodic periodic = {
		.due = (int64_t)monotonic_now() + FIRST_NS, .period = (int64_t)loop->interval,
		.self = loop, .work = wake_up,
	};

	loop->read = shortest_read();
	periodic_run(&periodic, NULL, UINT64_MAX);
	loop->missed = (u64)periodic.missed;
}

static void *run(void *argument)
{
	struct loop *loop = argument;
	struct sched_param parameter = { .sched_priority = loop->priority };

	/* In this order: next to one that never sleeps an ordinary task gets no time there. */
	if (sched_setscheduler(0, loop->priority ? SCHED_FIFO : SCHED_OTHER, &parameter) ||
	    loop_pin((int)loop->cpu))
		loop->error = -errno;
	pthread_setname_np(pthread_self(), "measure");
	atomic_store(&loop->tid, gettid());
	while (!loop->error && !atomic_load(&loop->stop) && !atomic_load(&loop->going))
		monotonic_sleep_until(monotonic_now() + FIRST_NS);
	if (!loop->error && !atomic_load(&loop->stop))
		measure(loop);
	atomic_store(&loop->ended, true);
	return NULL;
}

int loop_start(struct loop *loop)
{
	int ret;

	loop->shortest = ~0ull;
	ret = pthread_create(&loop->thread, NULL, run, loop);
	if (ret)
		return -ret;
	loop->created = true;
	while (!atomic_load(&loop->tid) && !session_interrupted)
		monotonic_sleep_until(monotonic_now() + FIRST_NS);
	return atomic_load(&loop->tid) ? loop->error : -EINTR;
}

void loop_go(struct loop *loop, u64 time)
{
	loop->end = monotonic_now() + time;
	atomic_store(&loop->going, true);
}

void loop_join(struct loop *loop)
{
	cpu_set_t own;

	atomic_store(&loop->stop, true);
	if (!loop->created)
		return;
	/* one that gets no time on its CPU ends elsewhere */
	CPU_ZERO(&own);
	sched_getaffinity(0, sizeof(own), &own);
	pthread_setaffinity_np(loop->thread, sizeof(own), &own);
	pthread_join(loop->thread, NULL);
}

u64 loop_percentile(const struct loop *loop, unsigned int of_a_million)
{
	u64 wanted = (loop->wakeups * of_a_million + 999999) / 1000000, seen = 0;

	for (unsigned int i = 0; i < HISTOGRAM_US - 1; i++) {
		seen += loop->histogram[i];
		if (seen >= wanted)
			return i;
	}
	return (loop->longest + 999) / 1000;
}
