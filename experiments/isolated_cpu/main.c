// SPDX-License-Identifier: GPL-2.0-or-later
/* Command line, and the order of things. */
#define _GNU_SOURCE
#include "isolated.h"
#include "clock.h"
#include "file.h"
#include "isolate.h"
#include "options.h"
#include "tasks.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SETTLE_NS (100 * NSEC_PER_MSEC)

static const char help[] =
	"Usage: isolated_cpu [--samples=N] [--load=none|spin|kernel|softirqs] [--isolate]\n"
	"                    [--preempt=HOW] [--device]\n"
	"\n"
	"Reads a periodic interrupt with a SCHED_FIFO task on CPU 0 and writes\n"
	"samples.csv, summary.csv and *.hist to the working directory.\n"
	"\n"
	"  --samples=N   number of interrupts (default 10240)\n"
	"  --load=KIND   other load: none, tasks that compute, tasks that keep the\n"
	"                kernel busy, or its soft interrupts (default kernel)\n"
	"  --isolate     isolate CPU 0 from all other tasks and interrupts meanwhile\n"
	"  --device      read the HPET's interrupt, directed to CPU 0 (2,000 a second), instead of\n"
	"                the real-time clock's (2,048 a second), which Linux serves by a timer\n"
	"  --preempt=HOW set the kernel's preemption: none, voluntary or full\n";

static void usage(FILE *out)
{
	fputs(help, out);
}

static void set_load(char *name, void *to)
{
	static const char *const names[] = { "none", "spin", "kernel", "softirqs" };
	enum load *load = to;

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(name, names[i])) {
			*load = i;
			return;
		}
	}
	fprintf(stderr, "isolated_cpu: --load=%s: there are none, spin, kernel and softirqs\n", name);
	exit(2);
}

static void set_preemption(char *how, void *unused)
{
	int ret = file_write("/sys/kernel/debug/sched/preempt", how);

	if (ret) {
		fprintf(stderr, "isolated_cpu: --preempt=%s: %s\n", how, strerror(-ret));
		exit(1);
	}
}

/* The measured task's process: on its CPU alone before anything else is there. */
static int become_measured(const struct run *run)
{
	prctl(PR_SET_NAME, "measured");
	if (run->isolate && isolate_enter(MEASURED_CPU))
		return -EIO;
	prctl(PR_SET_TIMERSLACK, 1);
	if (task_pin(MEASURED_CPU) || task_fifo(0, PRIORITY) ||
	    mlockall(MCL_CURRENT | MCL_FUTURE)) {
		fprintf(stderr, "isolated_cpu: the measured task: %m\n");
		return -errno;
	}
	return 0;
}

static int run_measured(struct run *run)
{
	int status;
	pid_t pid;

	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		int ret = become_measured(run);

		_exit(-(ret ? ret : measure(run)));
	}
	if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return -EIO;
	return -WEXITSTATUS(status);
}

static int run_all(struct run *run)
{
	int ret = load_start(run->load);

	if (ret)
		return ret;
	sleep_until(clock_ns() + SETTLE_NS);
	if (run->isolate) {
		ret = isolate_cpu(MEASURED_CPU);
		if (ret)
			return ret;
		load_give_no_way();
	} else {
		load_give_less_way();
		sleep_until(clock_ns() + SETTLE_NS);
	}
	sleep_until(clock_ns() + NSEC_PER_MSEC);
	ret = count_start();
	if (ret)
		return ret;
	ret = run_measured(run);
	if (ret)
		fprintf(stderr, "isolated_cpu: measuring: %s\n", strerror(-ret));
	else
		ret = count_write();
	load_stop();
	if (run->isolate)
		isolate_end();
	if (!ret)
		record_write(run);
	return ret;
}

int main(int argc, char **argv)
{
	int samples = 10240;
	struct run *run;
	size_t size;

	run = mmap(NULL, sizeof(*run), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run == MAP_FAILED)
		return 1;
	run->load = LOAD_KERNEL;
	parse_options(argc, argv, (const struct opt[]){
		{ 'n', "samples", OPT_NUMBER(&samples, 1, 100000000) },
		{ 'l', "load", OPT_TEXT(set_load, &run->load) },
		{ 'i', "isolate", OPT_FLAG(&run->isolate) },
		{ 'd', "device", OPT_FLAG(&run->device) },
		{ 'p', "preempt", OPT_TEXT(set_preemption, NULL) },
		{ }
	}, usage);
	run->samples = samples;
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		fprintf(stderr, "isolated_cpu: takes two CPUs\n");
		return 1;
	}
	size = run->samples * sizeof(*run->sample);
	run->sample = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (run->sample == MAP_FAILED) {
		fprintf(stderr, "isolated_cpu: no memory for %u samples\n", run->samples);
		return 1;
	}
	return run_all(run) ? 1 : 0;
}
