// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What each layer gives: a periodic job that waits by clock_nanosleep() or by
 * libclockfix, next to loads that set timers and loads that take the CPU.
 *
 * Loads, loop and records are those of ../common.
 */
#define _GNU_SOURCE
#include "run.h"
#include "clock.h"
#include "isolate.h"
#include "pause.h"

#include <clockfix.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* So long, about 10 us, the job computes between two pauses. */
#define ROUNDS_OF_TURN	128
#define AREA (256 * 1024)
#define PAGE 4096
#define SPIN 2000

struct together {
	struct run run;
	bool clockfix;		/* else clock_nanosleep() */
	int hogs;		/* ordinary processes that take the CPU, in kernel and user space */
	int spinners;		/* ordinary processes that only compute */
	bool isolate;		/* nothing else may run on the job's CPU */
	struct clockfix_sleeper *sleeper;
};

static struct together *together_of(struct run *run)
{
	return (struct together *)((char *)run - offsetof(struct together, run));
}

/*
 * Processes without any privilege that take what CPU time they get. A hog does for the most
 * part in the kernel: it maps, touches and gives back memory, and has a file written and read.
 * A spinner computes.
 */
static void use_memory(void)
{
	char *area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		return;
	for (size_t i = 0; i < AREA; i += PAGE)
		area[i] = 1;
	munmap(area, AREA);
}

static void use_file(int fd)
{
	char block[16 * 1024];

	memset(block, 1, sizeof(block));
	if (pwrite(fd, block, sizeof(block), 0) == sizeof(block))
		(void)!pread(fd, block, sizeof(block), 0);
}

/* Give up privileges, and wait for time zero. */
static int begin(struct together *together)
{
	struct load_task self = { .policy = 0, .unprivileged = true };

	munlockall();
	if (task_become(&self))
		return -1;
	task_ready_and_wait(&together->run.loads, 0);
	return 0;
}

static int hog(struct together *together)
{
	const struct shared *shared = together->run.loads.shared;
	int fd = memfd_create("hog", MFD_CLOEXEC);

	if (fd < 0 || begin(together))
		return 1;
	while (clock_ns() < shared->stop) {
		use_memory();
		use_file(fd);
		pause_cpu();
	}
	return 0;
}

static int spinner(struct together *together)
{
	const struct shared *shared = together->run.loads.shared;

	if (begin(together))
		return 1;
	while (clock_ns() < shared->stop) {
		for (int i = 0; i < SPIN; i++)
			__asm__ volatile("" ::: "memory");
		pause_cpu();
	}
	return 0;
}

static int hogs_start(struct run *run)
{
	struct together *together = together_of(run);

	for (int i = 0; i < together->hogs + together->spinners; i++) {
		int pid = load_fork(&run->loads);

		if (pid < 0)
			return pid;
		if (!pid)
			_exit(i < together->hogs ? hog(together) : spinner(together));
	}
	return 0;
}

static volatile uint64_t sink;

static __attribute__((noinline)) void compute(int64_t rounds)
{
	uint64_t x = sink;

	for (int64_t i = 0; i < rounds * 16; i++)
		x = x * 6364136223846793005ull + 1442695040888963407ull;
	sink = x;
}

/* If there are other CPUs, they have turns meanwhile. */
static void work(const struct run *run)
{
	int64_t rounds = run->options.work;

	for (; run->loads.anywhere && rounds > ROUNDS_OF_TURN; rounds -= ROUNDS_OF_TURN) {
		compute(ROUNDS_OF_TURN);
		pause_cpu();
	}
	compute(rounds);
}

static void wait_until(void *self, int64_t due)
{
	struct together *together = self;

	while (clockfix_sleep_until(together->sleeper, CLOCK_MONOTONIC, due))
		;
}

/*
 * Two system calls that do nothing tell the plugin that counts instructions where the work begins
 * and ends. All that the kernel executes in between is what delays it.
 */
static bool watched_work(void *self, struct job *job)
{
	struct together *together = self;

	syscall(SYS_getegid);
	work(&together->run);
	syscall(SYS_getpgid, 0);
	return true;
}

static int work_run_all(struct run *run)
{
	struct together *together = together_of(run);
	int ret;

	if (together->isolate)
		ret = isolate_cpu(run->loads.cpu) ?: isolate_enter(run->loads.cpu);
	else
		ret = loop_pin(run->loads.cpu);
	if (ret)
		return ret;
	prctl(PR_SET_TIMERSLACK, 1UL);
	if (together->clockfix) {
		run->periodic.wait = wait_until;
		ret = clockfix_sleeper_create(&together->sleeper, NULL);
	}
	if (!ret)
		ret = run_jobs(run);
	clockfix_sleeper_destroy(together->sleeper);
	if (together->isolate)
		isolate_end();
	return ret;
}

int main(int argc, char **argv)
{
	struct together together = {
		.run.loop.ticks_per_ns = 1,
		.run.options = { .jobs = 1000, .warmup = 300, .priority = LOOP_PRIORITY },
		.run.loads.seed = 1,
		.run.periodic = { .period = LOOP_PERIOD, .self = &together, .work = watched_work },
	};
	const struct opt opts[] = {
		JOB_OPTIONS(&together.run),
		{ "clockfix", NULL, "wait by libclockfix, not by clock_nanosleep",
		  OPT_FLAG(&together.clockfix) },
		{ "hogs", "N", "ordinary processes that take the CPU (0)",
		  OPT_NUMBER(&together.hogs, 0, 100) },
		{ "spinners", "N", "ordinary processes that only compute (0)",
		  OPT_NUMBER(&together.spinners, 0, 100) },
		{ "isolate", NULL, "isolate the job's CPU (timershield isolate)",
		  OPT_FLAG(&together.isolate) },
		{ }
	};

	parse_options(argc, argv, opts,
		      "Run a periodic SCHED_FIFO job next to loads, waiting for its instants in one way or\n"
		      "another; leave summary.csv, jobs.csv, tasks.csv and releases.csv in the working\n"
		      "directory.", run_describe_loads);
	if (!together.run.options.work) {
		fprintf(stderr, "together: --work is missing\n");
		return 2;
	}
	run_plan(&together.run);
	return run_measure(&together.run, hogs_start, work_run_all) ? 1 : 0;
}
