// SPDX-License-Identifier: GPL-2.0-or-later
#include "source.h"

#include "loop/loads.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>

#define SAMPLES 64
#define AHEAD_NS 60000			/* a timer is armed so far ahead */
#define WINDOW_NS 100000		/* and we look for the gap so long */
#define TICKS_NS 5000000		/* a tick happens in this time, as a rule */
#define WAIT_NS 20000000		/* for a wake-up */

/* Preempts the one that calibrates, at NEXT, once for each GO. */
struct waker {
	sem_t go;
	_Atomic u64 next;		/* 0: it is to end */
	atomic_uint wakes;
};

/* What our thread saw of the time that it did not get. */
struct gaps {
	u64 total;
	unsigned int count;		/* of interruptions; 0: not what was wanted */
};

enum what { FAULT, INTERRUPT, SWITCH, WHATS };

/*
 * What each of these takes beyond what the source saw of it. They take turns, for the speed of a busy
 * machine changes: the overhead of an interrupt is part of that of a switch.
 */
static struct samples {
	double beyond[WHATS][SAMPLES];
	unsigned int count[WHATS];
} samples;

static bool realtime_kernel;		/* PREEMPT_RT */

/* How long it takes to read the clock, in ns. */
static u64 shortest_read(void)
{
	u64 shortest = ~0ull, before = clock_ns();

	for (int i = 0; i < 1000; i++) {
		u64 now = clock_ns();

		if (now - before < shortest)
			shortest = now - before;
		before = now;
	}
	return shortest;
}

static void add_gap(struct gaps *gaps, u64 time, u64 read)
{
	if (time <= 4 * read + 200)
		return;
	gaps->total += time - read;
	gaps->count++;
}

static void look_for_gaps(struct gaps *gaps, u64 read, u64 window)
{
	u64 before = clock_ns(), end = before + window, now;

	for (; before < end; before = now) {
		now = clock_ns();
		add_gap(gaps, now - before, read);
	}
}

/* One interruption that nothing else causes; on PREEMPT_RT only the tick does. */
static void look_for_interrupt(struct gaps *gaps, u64 read, int timer)
{
	struct itimerspec ahead = { .it_value.tv_nsec = AHEAD_NS };

	if (realtime_kernel) {
		look_for_gaps(gaps, read, TICKS_NS);
		return;
	}
	timerfd_settime(timer, 0, &ahead, NULL);
	look_for_gaps(gaps, read, WINDOW_NS);
}

/* All of the wake-up that has been asked for. */
static void look_for_switch(struct gaps *gaps, u64 read, struct waker *waker, unsigned int wakes)
{
	u64 before = clock_ns(), end = before + WAIT_NS, now;

	for (; atomic_load(&waker->wakes) == wakes && before < end; before = now) {
		now = clock_ns();
		add_gap(gaps, now - before, read);
	}
	add_gap(gaps, clock_ns() - before, read);
	gaps->count = atomic_load(&waker->wakes) == wakes + 1;
}

static void look_for_fault(struct gaps *gaps, u64 read, volatile char *page)
{
	u64 before = clock_ns();

	*page = 1;
	gaps->total = clock_ns() - before - read;
	gaps->count = 1;
}

static int by_size(const void *a, const void *b)
{
	const double *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

/* Without the lowest and the highest quarter: a busy machine or its hypervisor disturbed these. */
static double typical(unsigned int what)
{
	unsigned int count = samples.count[what], first = count / 4;
	double sum = 0;

	qsort(samples.beyond[what], count, sizeof(double), by_size);
	for (unsigned int i = first; i < count - first; i++)
		sum += samples.beyond[what][i];
	return sum > 0 ? sum / (count - 2 * first) : 0;
}

/* Of two PAGES the first is not measured: a fault behind other work takes longer than one of many. */
static void take_sample(unsigned int what, int timer,
			struct waker *waker, volatile char *pages, size_t page)
{
	static u64 read, took;
	unsigned int wakes = atomic_load(&waker->wakes);
	u64 began, before, seen;
	struct gaps gaps = { 0 };

	if (!read)
		read = shortest_read();
	if (what == SWITCH) {
		atomic_store(&waker->next, clock_ns() + took + 2 * AHEAD_NS);
		sem_post(&waker->go);
	}
	if (what == FAULT)
		*pages = 1;
	began = clock_ns();
	before = source_taken((u32)gettid());
	took = clock_ns() - began;
	if (what == FAULT)
		look_for_fault(&gaps, read, pages + page);
	else if (what == INTERRUPT)
		look_for_interrupt(&gaps, read, timer);
	else if (atomic_load(&waker->wakes) == wakes)
		look_for_switch(&gaps, read, waker, wakes);
	seen = source_taken((u32)gettid()) - before;
	if (gaps.count)
		samples.beyond[what][samples.count[what]++] =
			((double)gaps.total - (double)seen) / gaps.count;
}

static void *wake(void *argument)
{
	struct waker *waker = argument;

	while (!sem_wait(&waker->go) && atomic_load(&waker->next)) {
		u64 next = atomic_load(&waker->next);
		struct timespec at = { (time_t)(next / 1000000000), (long)(next % 1000000000) };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		atomic_fetch_add(&waker->wakes, 1);
	}
	return NULL;
}

static bool start_waker(struct waker *waker, pthread_t *thread, int priority)
{
	struct sched_param parameter = { .sched_priority = priority };
	pthread_attr_t attributes;
	bool started;

	sem_init(&waker->go, 0, 0);
	pthread_attr_init(&attributes);
	pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
	pthread_attr_setschedparam(&attributes, &parameter);
	started = !pthread_create(thread, &attributes, wake, waker);
	pthread_attr_destroy(&attributes);
	return started;
}

/* PRIORITY of the waker; 0: there is to be none. */
static void take_samples(struct blame_config *config, int timer,
			 int priority)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * SAMPLES * page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct waker waker = { 0 };
	pthread_t thread;
	bool wakes = priority && start_waker(&waker, &thread, priority);

	memset(&samples, 0, sizeof(samples));
	realtime_kernel = config->realtime_kernel;
	for (size_t i = 0; i < SAMPLES && pages != MAP_FAILED; i++)
		for (unsigned int what = 0; what < (wakes ? WHATS : SWITCH); what++)
			take_sample(what, timer, &waker, pages + 2 * i * page, page);
	if (pages != MAP_FAILED)
		munmap(pages, 2 * SAMPLES * page);
	if (wakes) {
		atomic_store(&waker.next, 0);
		sem_post(&waker.go);
		pthread_join(thread, NULL);
	}
	config->fault_overhead = (u64)typical(FAULT);
	config->interrupt_overhead = (u64)typical(INTERRUPT);
	config->switch_overhead = (u64)fmax(typical(SWITCH) - typical(INTERRUPT), 0);
}

/* One CPU, ours if that is allowed; BEFORE takes what was so far. */
static void stay_on_one(cpu_set_t *before, const struct cpus *avoid)
{
	int chosen = sched_getcpu();

	CPU_ZERO(before);
	sched_getaffinity(0, sizeof(*before), before);
	for (int i = 0; avoid && i < CPU_SETSIZE && cpus_has(avoid, (unsigned int)chosen); i++)
		if (CPU_ISSET(i, before) && !cpus_has(avoid, (unsigned int)i))
			chosen = i;
	loop_pin(chosen);
}

/* Above the kernel's own threads of PREEMPT_RT, which would disturb us. */
static void calibrate_as_realtime(struct blame_config *config,
				  int timer)
{
	struct sched_param before, own = { .sched_priority = 2 };
	int policy = sched_getscheduler(0);
	bool realtime;

	sched_getparam(0, &before);
	if (policy == SCHED_FIFO && before.sched_priority > 3)
		own.sched_priority = before.sched_priority - 1;
	realtime = !sched_setscheduler(0, SCHED_FIFO, &own);
	take_samples(config, timer, realtime ? own.sched_priority + 1 : 0);
	sched_setscheduler(0, policy, &before);
}

void calibrate(struct blame_config *config,
	       const struct cpus *avoid)
{
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	struct blame_config own = *config;
	cpu_set_t before;

	own.victims_are = VICTIMS_TARGETS;
	own.cpu_limited = 0;
	own.realtime = 0;
	own.over = 0;
	if (timer >= 0 && !source_add_target((u32)gettid())) {
		own.started = clock_ns();
		own.on = 1;
		source_configure(&own);
		stay_on_one(&before, avoid);
		calibrate_as_realtime(&own, timer);
		sched_setaffinity(0, sizeof(before), &before);
	}
	if (timer >= 0)
		close(timer);
	config->interrupt_overhead = own.interrupt_overhead;
	config->switch_overhead = own.switch_overhead;
	config->fault_overhead = own.fault_overhead;
}
