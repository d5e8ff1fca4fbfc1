// SPDX-License-Identifier: LGPL-2.1-or-later
/* test-process.c - forks, descriptors, locked memory, thread names, event loops, clocks */
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

static void a_childs_destroy_leaks_no_descriptors(void)
{
	struct clockfix_spec spec;
	struct clockfix *timer;
	int before = descriptors(), status;
	pid_t pid;

	clockfix_spec_init(&spec);
	spec.clock = CLOCK_TAI;
	spec.start = clockfix_now(CLOCK_TAI);
	spec.fn = job;
	CHECK_EQ(clockfix_create(&timer, NULL), 0);
	CHECK_EQ(clockfix_schedule(timer, &spec, NULL), 0);
	CHECK_EQ(clockfix_drain(timer), 0);
	CHECK_EQ(descriptors(), before + 2);
	pid = fork();
	if (!pid)
		_exit(clockfix_destroy(timer, 0) || descriptors() != before);
	waitpid(pid, &status, 0);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
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

/* A structure of a program that was compiled with another version of the header. */
static void structures_grow(void)
{
	struct {
		struct clockfix_stats stats;
		uint64_t more[4];
	} longer;
	struct clockfix_stats stats = { .size = CLOCKFIX_STATS_SIZE_V1 - 1 };
	struct clockfix_options absurd;
	struct clockfix *timer;

	CHECK_EQ(clockfix_create(&timer, NULL), 0);
	memset(&longer, 0xff, sizeof(longer));
	longer.stats.size = sizeof(longer);
	CHECK_EQ(clockfix_stats_read(timer, &longer.stats), 0);
	CHECK_EQ(longer.stats.size, sizeof(longer));
	CHECK_EQ(longer.stats.jobs, 0);
	CHECK_EQ(longer.more[3], 0);
	CHECK_EQ(clockfix_stats_read(timer, &stats), -EINVAL);
	CHECK_EQ(clockfix_stats_read(timer, NULL), -EINVAL);
	stats.size = SIZE_MAX;
	CHECK_EQ(clockfix_stats_read(timer, &stats), -EINVAL);
	CHECK_EQ(clockfix_destroy(timer, 0), 0);
	clockfix_options_init(&absurd);
	absurd.size = SIZE_MAX / 2;
	CHECK_EQ(clockfix_create(&timer, &absurd), -EINVAL);
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

CHECK_MAIN(TEST(a_job_forks), TEST(a_childs_destroy_leaks_no_descriptors),
	   TEST(locked_memory_is_unlocked), TEST(the_worker_has_a_name), TEST(structures_grow),
	   TEST(a_descriptor_is_readable_before_the_instant))
