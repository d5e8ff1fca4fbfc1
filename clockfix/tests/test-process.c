// SPDX-License-Identifier: LGPL-2.1-or-later
/* test-process.c - forks, descriptors, locked memory, thread names, event loops, crowds */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <clockfix.h>

#include "check.h"

#define MS 1000000LL

static int64_t now(void)
{
	return clockfix_now(CLOCK_MONOTONIC);
}

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (dir && readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static long locked_kb(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[128];
	long kb = -1;

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmLck: %ld", &kb);
	fclose(f);
	return kb;
}

static _Atomic int runs;

static void job(void *arg, const struct clockfix_run *run)
{
	(void)arg;
	(void)run;
	runs++;
}

static void forks(void *arg, const struct clockfix_run *run)
{
	(void)run;
	*(_Atomic pid_t *)arg = fork();
}

/* The child returns from the job: it runs no other, and ends. */
static void a_job_forks(void)
{
	static _Atomic pid_t pid = -1;
	struct clockfix *timer;
	int status;

	CHECK_EQ(clockfix_create(&timer, NULL), 0);
	CHECK_EQ(clockfix_submit(timer, now(), forks, (void *)&pid, NULL), 0);
	CHECK_EQ(clockfix_submit(timer, now() + 20 * MS, job, NULL, NULL), 0);
	CHECK_EQ(clockfix_drain(timer), 0);
	CHECK(pid > 0);
	for (int i = 0; i < 200 && !waitpid(pid, &status, WNOHANG); i++)
		usleep(10000);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	CHECK_EQ(runs, 1);
	CHECK_EQ(clockfix_destroy(timer, 0), 0);
}

static void a_timer_leaks_no_descriptors(void)
{
	struct clockfix_options options;
	struct clockfix_sleeper *sleeper;
	struct clockfix *timer;
	int before = descriptors(), status;
	pid_t pid;

	clockfix_options_init(&options);
	options.cpu_latency_us = 0;
	CHECK_EQ(clockfix_create(&timer, &options), 0);
	CHECK_EQ(clockfix_sleeper_create(&sleeper, NULL), 0);
	CHECK(clockfix_sleeper_fd(sleeper) >= 0);
	pid = fork();
	if (!pid) {
		clockfix_sleeper_destroy(sleeper);
		_exit(clockfix_destroy(timer, 0) || descriptors() != before);
	}
	waitpid(pid, &status, 0);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	clockfix_sleeper_destroy(sleeper);
	CHECK_EQ(clockfix_destroy(timer, 0), 0);
	CHECK_EQ(descriptors(), before);
}

static void locked_memory_is_unlocked(void)
{
	struct clockfix_options options;
	long before = locked_kb();
	struct clockfix *timer;

	clockfix_options_init(&options);
	options.flags = CLOCKFIX_LOCK_MEMORY | CLOCKFIX_STRICT;
	if (clockfix_create(&timer, &options))
		SKIP("memory can't be locked here");
	if (locked_kb() == before) {
		clockfix_destroy(timer, 0);
		SKIP("a sanitizer or emulator that does not lock");
	}
	CHECK_EQ(clockfix_destroy(timer, 0), 0);
	CHECK_EQ(locked_kb(), before);
}

static void thread_has_its_name(void *arg, const struct clockfix_run *run)
{
	char name[16] = "";

	(void)run;
	pthread_getname_np(pthread_self(), name, sizeof(name));
	*(_Atomic bool *)arg = !strcmp(name, "fifteen letters");
}

static void the_worker_has_a_name(void)
{
	static _Atomic bool right;
	struct clockfix_options options;
	struct clockfix *timer;

	clockfix_options_init(&options);
	memcpy(options.name, "fifteen letters", 16);
	CHECK_EQ(clockfix_create(&timer, &options), 0);
	CHECK_EQ(clockfix_submit(timer, now(), thread_has_its_name, (void *)&right, NULL), 0);
	CHECK_EQ(clockfix_destroy(timer, 0), 0);
	CHECK(right);
	CHECK_EQ(clockfix_version(), CLOCKFIX_VERSION);
}

/* An event loop is woken before the instant and returns at it. */
static void a_descriptor_is_readable_before_the_instant(void)
{
	struct clockfix_sleeper *sleeper;
	struct clockfix_stats stats = { .size = sizeof(stats) };
	struct pollfd fd = { .events = POLLIN };
	int before = 0;

	CHECK_EQ(clockfix_sleeper_create(&sleeper, NULL), 0);
	CHECK_EQ(clockfix_sleeper_finish(sleeper), -EINVAL);
	fd.fd = clockfix_sleeper_fd(sleeper);
	CHECK(fd.fd >= 0);
	CHECK_EQ(clockfix_sleeper_arm(sleeper, CLOCK_MONOTONIC, now() + 3600 * 1000 * MS), 0);
	CHECK_EQ(clockfix_sleeper_finish(sleeper), -EAGAIN);
	for (int i = 0; i < 200; i++) {
		clockid_t clock = i % 2 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
		int64_t instant = clockfix_now(clock) + 2 * MS;

		CHECK_EQ(clockfix_sleeper_arm(sleeper, clock, instant), 0);
		CHECK_EQ(poll(&fd, 1, 1000), 1);
		before += clockfix_now(clock) < instant;
		CHECK_EQ(clockfix_sleeper_finish(sleeper), 0);
		CHECK(clockfix_now(clock) >= instant);
	}
	CHECK_EQ(clockfix_sleeper_arm(sleeper, CLOCK_MONOTONIC, 1), 0);
	CHECK_EQ(poll(&fd, 1, 1000), 1);
	CHECK_EQ(clockfix_sleeper_finish(sleeper), 0);
	CHECK_EQ(clockfix_sleeper_stats_read(sleeper, &stats), 0);
	printf("# readable before its instant %d times of 200, late p50 %lld ns\n", before,
	       (long long)clockfix_histogram_quantile(&stats.lateness, 0.5));
	CHECK_EQ(stats.jobs, 201);
	/* if the CPU is somebody else's it may be late: seldom */
	CHECK(before > 100);
	clockfix_sleeper_destroy(sleeper);
}

/* ---- many threads, for the sanitizers --------------------------------------------------- */

#define THREADS 4
#define OPEN	64	/* jobs a thread keeps handles of */

struct submitter {
	pthread_t thread;
	struct clockfix *timer;
	uint64_t rng;
	struct {
		_Atomic int runs;
		clockfix_job job;
		bool periodic;
	} item[OPEN];
};

static atomic_bool stop;

static void count_run(void *arg, const struct clockfix_run *run)
{
	(void)run;
	atomic_fetch_add((_Atomic int *)arg, 1);
}

/* Each job runs once or was cancelled before, never both. */
static void *submit_and_cancel(void *arg)
{
	struct submitter *sub = arg;

	for (uint64_t n = 0; !atomic_load(&stop) || n % OPEN; n++) {
		uint64_t r = check_random(&sub->rng), i = n % OPEN;
		int ret = clockfix_cancel_wait(sub->timer, sub->item[i].job);
		struct clockfix_spec spec;

		if (sub->item[i].job && !sub->item[i].periodic)
			CHECK_EQ(atomic_load(&sub->item[i].runs), ret != 0);
		sub->item[i].periodic = !(r % 16);
		atomic_store(&sub->item[i].runs, 0);
		clockfix_spec_init(&spec);
		spec.start = now() + (int64_t)(r / 128 % 300000) - 20000;
		spec.period = sub->item[i].periodic ? 20000 + r / 1024 % 100000 : 0;
		spec.missed = r / 65536 % 3;
		spec.fn = count_run;
		spec.arg = (void *)&sub->item[i].runs;
		ret = clockfix_schedule(sub->timer, &spec, &sub->item[i].job);
		CHECK(ret == 0 || ret == -ENOMEM);
		if (ret)
			sub->item[i].job = 0;
	}
	for (int i = 0; i < OPEN; i++)
		clockfix_cancel_wait(sub->timer, sub->item[i].job);
	return NULL;
}

static void crowd(uint32_t max_jobs)
{
	static struct submitter subs[THREADS];
	struct clockfix_stats stats = { .size = sizeof(stats) };
	struct clockfix_options options;
	struct clockfix *timer;
	int64_t end = now() + 1500 * MS;

	clockfix_options_init(&options);
	options.max_jobs = max_jobs;
	options.job_reserve = 1;
	memset(subs, 0, sizeof(subs));
	atomic_store(&stop, false);
	CHECK_EQ(clockfix_create(&timer, &options), 0);
	for (int i = 0; i < THREADS; i++) {
		subs[i].timer = timer;
		subs[i].rng = 1000 + i;
		pthread_create(&subs[i].thread, NULL, submit_and_cancel, &subs[i]);
	}
	while (now() < end) {
		CHECK_EQ(clockfix_stats_read(timer, &stats), 0);
		usleep(1000);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(subs[i].thread, NULL);
	CHECK_EQ(clockfix_drain(timer), 0);
	CHECK_EQ(clockfix_stats_read(timer, &stats), 0);
	CHECK_EQ(stats.pending, 0);
	printf("# %llu runs, %llu cancelled\n", (unsigned long long)stats.jobs,
	       (unsigned long long)stats.cancelled);
	CHECK(stats.jobs > 100 && stats.cancelled > 100);
	CHECK_EQ(clockfix_destroy(timer, 0), 0);
}

static void threads_submit_and_cancel(void)
{
	crowd(0);
	crowd(16);
}

CHECK_MAIN(TEST(a_job_forks), TEST(a_timer_leaks_no_descriptors),
	   TEST(locked_memory_is_unlocked), TEST(the_worker_has_a_name),
	   TEST(a_descriptor_is_readable_before_the_instant),
	   TEST(threads_submit_and_cancel))
