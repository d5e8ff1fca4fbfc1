// SPDX-License-Identifier: GPL-2.0-or-later
#include "source.h"

#include "lib/file.h"
#include "loop/loads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>

#define BATCHES 9
#define PER_BATCH 20
#define AHEAD_NS 60000			/* a timer is armed so far ahead */
#define WINDOW_NS 100000		/* and we look for the gap so long */
#define TICKS_NS 20000000		/* some ticks happen in this time */
#define PARKED_NS 10000000

/* Preempts the one that calibrates, every AHEAD_NS while it is not to be parked. */
struct waker {
	atomic_bool park, parked, stop;
	atomic_uint wakes;
};

/* What our thread saw of the time that it did not get. */
struct gaps {
	u64 total;
	unsigned int count;		/* of interruptions, or of preemptions */
};

static u64 taken_from(const struct blame_source *source, u32 id)
{
	struct blame_figures figures = { 0 };
	u64 taken = 0;

	source->drain();
	source->read(&figures);
	for (size_t i = 0; i < figures.victim_count; i++)
		if (figures.victims[i].id == id)
			taken = figures.victims[i].victim.taken;
	blame_figures_free(&figures);
	return taken;
}

u64 shortest_read(void)
{
	u64 shortest = ~0ull, before = monotonic_now();

	for (int i = 0; i < 1000; i++) {
		u64 now = monotonic_now();

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
	u64 before = monotonic_now(), end = before + window, now;

	for (; before < end; before = now) {
		now = monotonic_now();
		add_gap(gaps, now - before, read);
	}
}

/* PER_BATCH interruptions that nothing else causes; on PREEMPT_RT only the tick does. */
static void look_for_interrupts(struct gaps *gaps, u64 read, int timer)
{
	struct itimerspec ahead = { .it_value.tv_nsec = AHEAD_NS };

	if (file_has("/proc/version", "PREEMPT_RT")) {
		look_for_gaps(gaps, read, TICKS_NS);
		return;
	}
	for (unsigned int i = 0; i < PER_BATCH; i++) {
		timerfd_settime(timer, 0, &ahead, NULL);
		look_for_gaps(gaps, read, WINDOW_NS);
	}
}

/* The waker's first wake-up and its last one are in the window. */
static void look_for_switches(struct gaps *gaps, u64 read, struct waker *waker)
{
	unsigned int first = atomic_load(&waker->wakes), enough = first + PER_BATCH;
	u64 before = monotonic_now(), end = before + 1000000000, now;

	atomic_store(&waker->parked, false);
	atomic_store(&waker->park, false);
	for (; !atomic_load(&waker->parked) && before < end; before = now) {
		now = monotonic_now();
		add_gap(gaps, now - before, read);
		if ((int)(atomic_load(&waker->wakes) - enough) >= 0)
			atomic_store(&waker->park, true);
	}
	add_gap(gaps, monotonic_now() - before, read);
	gaps->count = atomic_load(&waker->wakes) - first;
}

/* Of pages that have been given back since the last batch; the page table stays. */
static void look_for_faults(struct gaps *gaps, u64 read)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), length = PER_BATCH * page;
	static volatile char *memory = MAP_FAILED;

	if (memory == MAP_FAILED)
		memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < PER_BATCH && memory != MAP_FAILED; i++) {
		u64 before = monotonic_now();

		memory[i * page] = 1;
		add_gap(gaps, monotonic_now() - before, read);
	}
	if (memory != MAP_FAILED)
		madvise((void *)memory, length, MADV_DONTNEED);
}

static int by_size(const void *a, const void *b)
{
	const double *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

/* The median over batches of what each gap had beyond what the source saw. */
static u64 beyond_events(const struct blame_source *source, int timer, struct waker *waker)
{
	u64 read = shortest_read(), before, seen;
	double beyond[BATCHES];

	for (unsigned int i = 0; i < BATCHES; i++) {
		struct gaps gaps = { 0 };

		before = taken_from(source, (u32)gettid());
		if (waker)
			look_for_switches(&gaps, read, waker);
		else if (timer >= 0)
			look_for_interrupts(&gaps, read, timer);
		else
			look_for_faults(&gaps, read);
		seen = taken_from(source, (u32)gettid()) - before;
		beyond[i] = gaps.count ? ((double)gaps.total - (double)seen) / gaps.count : 0;
	}
	qsort(beyond, BATCHES, sizeof(*beyond), by_size);
	return beyond[BATCHES / 2] > 0 ? (u64)beyond[BATCHES / 2] : 0;
}

static void *wake(void *argument)
{
	struct waker *waker = argument;

	while (!atomic_load(&waker->stop)) {
		bool park = atomic_load(&waker->park);
		struct timespec pause = { .tv_nsec = park ? PARKED_NS : AHEAD_NS };

		atomic_store(&waker->parked, park);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		atomic_fetch_add(&waker->wakes, 1);
	}
	return NULL;
}

static void calibrate_switch(const struct blame_source *source, struct blame_config *config,
			     int priority)
{
	struct sched_param parameter = { .sched_priority = priority };
	struct waker waker = { .park = true };
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
	pthread_attr_setschedparam(&attributes, &parameter);
	if (!pthread_create(&thread, &attributes, wake, &waker)) {
		config->switch_overhead = beyond_events(source, -1, &waker);
		atomic_store(&waker.stop, true);
		pthread_join(thread, NULL);
	}
	pthread_attr_destroy(&attributes);
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
static void calibrate_as_realtime(const struct blame_source *source, struct blame_config *config,
				  int timer)
{
	struct sched_param before, own = { .sched_priority = 2 };
	int policy = sched_getscheduler(0);
	bool realtime;

	sched_getparam(0, &before);
	if (policy == SCHED_FIFO && before.sched_priority > 3)
		own.sched_priority = before.sched_priority - 1;
	realtime = !sched_setscheduler(0, SCHED_FIFO, &own);
	config->fault_overhead = beyond_events(source, -1, NULL);
	config->interrupt_overhead = beyond_events(source, timer, NULL);
	source->configure(config);
	if (realtime)
		calibrate_switch(source, config, own.sched_priority + 1);
	sched_setscheduler(0, policy, &before);
}

void calibrate(const struct blame_source *source, struct blame_config *config,
	       const struct cpus *avoid)
{
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	struct blame_config own = *config;
	cpu_set_t before;

	own.victims_are = VICTIMS_TARGETS;
	own.cpu_limited = 0;
	own.realtime = 0;
	own.over = 0;
	if (timer >= 0 && !source->add_target((u32)gettid())) {
		own.started = monotonic_now();
		own.on = 1;
		source->configure(&own);
		stay_on_one(&before, avoid);
		calibrate_as_realtime(source, &own, timer);
		sched_setaffinity(0, sizeof(before), &before);
	}
	if (timer >= 0)
		close(timer);
	config->interrupt_overhead = own.interrupt_overhead;
	config->switch_overhead = own.switch_overhead;
	config->fault_overhead = own.fault_overhead;
}
