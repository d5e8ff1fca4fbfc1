// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A periodic interrupt read by a SCHED_FIFO task on CPU 0, next to a load that keeps
 * every CPU busy in the kernel, with that CPU isolated or not.
 *
 * After: S. Brosky, "Shielded CPUs: Real-Time Performance in Standard Linux".
 */
#define _GNU_SOURCE
#include "clock.h"
#include "csv.h"
#include "file.h"
#include "isolate.h"
#include "load.h"
#include "options.h"
#include "source.h"
#include "tasks.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PRIORITY 90
#define SETTLE_NS (100 * NSEC_PER_MSEC)
#define EVENTS "/sys/kernel/tracing/events/"

struct run {
	unsigned int samples;
	enum load load;
	bool isolate;
	int period_ns;
	uint32_t missed;		/* interrupts that were read late, with another */
	int64_t *response;		/* of the first interrupt that had not been read yet */
};

static int measure(struct run *run)
{
	struct source source;
	uint32_t index = 0;
	int ret;

	ret = source_open(&source, MEASURED_CPU);
	if (ret)
		return ret;
	run->period_ns = source.period_ns;
	for (unsigned int i = 0; i < run->samples; i++) {
		uint32_t count = source_wait(&source);
		int64_t woke = clock_ns();

		if (!count)
			return -EIO;
		run->response[i] = woke - source_due_ns(&source, count, woke);
		index += count;
	}
	run->missed = index - run->samples;
	close(source.fd);
	return 0;
}

static void record_write(const struct run *run)
{
	FILE *file = csv_create("samples.csv", "response_ns");

	for (unsigned int i = 0; i < run->samples; i++)
		fprintf(file, "%" PRId64 "\n", run->response[i]);
	csv_finish(file, "samples.csv");
	file = csv_create("summary.csv", "name,value");
	fprintf(file, "samples,%u\nperiod_ns,%d\nisolated,%d\nmissed,%" PRIu32 "\n",
		run->samples, run->period_ns, run->isolate, run->missed);
	csv_finish(file, "summary.csv");
}

/*
 * Which tasks the measured CPU switched to, and which interrupts of devices came there: the kernel
 * counts, by histograms of its trace events, and their text is what is left (NAME.hist). Kernels
 * without histograms leave none.
 */
static const struct {
	const char *event, *trigger, *file;
} counted[] = {
	{ EVENTS "sched/sched_switch/", "hist:keys=next_pid,next_comm:size=4096 if common_cpu == 0",
	  "task.hist" },
	{ EVENTS "irq/irq_handler_entry/", "hist:keys=irq,name if common_cpu == 0", "irq.hist" },
};

static int count_start(void)
{
	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
		char path[128];
		int ret;

		snprintf(path, sizeof(path), "%strigger", counted[i].event);
		ret = file_write(path, counted[i].trigger);
		if (ret == -EINVAL)
			return 0;
		if (ret) {
			fprintf(stderr, "isolated_cpu: %s: %s\n", path, strerror(-ret));
			return ret;
		}
	}
	return 0;
}

static int count_write(void)
{
	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
		char path[128], line[512];
		FILE *from, *to;

		snprintf(path, sizeof(path), "%shist", counted[i].event);
		from = fopen(path, "re");
		if (!from)
			return errno == ENOENT ? 0 : -errno;
		to = fopen(counted[i].file, "we");
		while (to && fgets(line, sizeof(line), from))
			fputs(line, to);
		fclose(from);
		if (!to || fclose(to))
			return -EIO;
		snprintf(path, sizeof(path), "%strigger", counted[i].event);
		snprintf(line, sizeof(line), "!%s", counted[i].trigger);
		file_write(path, line);
	}
	return 0;
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

static void set_load(char *name, void *to)
{
	static const char *const names[] = { "none", "spin", "kernel" };
	enum load *load = to;

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(name, names[i])) {
			*load = i;
			return;
		}
	}
	fprintf(stderr, "isolated_cpu: --load=%s: there are none, spin and kernel\n", name);
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
		{ "samples", "N", "number of interrupts (10240)", OPT_NUMBER(&samples, 1, 100000000) },
		{ "load", "KIND", "none, spin: tasks that compute, kernel: tasks that keep the kernel "
		  "busy (kernel)",
		  OPT_TEXT(set_load, &run->load) },
		{ "isolate", NULL, "isolate CPU 0 from all other tasks and interrupts meanwhile",
		  OPT_FLAG(&run->isolate) },
		{ "preempt", "HOW", "set the kernel's preemption: none, voluntary or full",
		  OPT_TEXT(set_preemption, NULL) },
		{ }
	}, "Read a periodic interrupt with a SCHED_FIFO task on CPU 0; leave samples.csv, summary.csv\n"
	   "and *.hist in the working directory.", NULL);
	run->samples = samples;
	/* Without preemption the load keeps RCU and the watchdog waiting, which is no failure here. */
	file_write("/sys/module/rcupdate/parameters/rcu_cpu_stall_suppress", "1");
	file_write("/proc/sys/kernel/soft_watchdog", "0");
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		fprintf(stderr, "isolated_cpu: takes two CPUs\n");
		return 1;
	}
	size = run->samples * sizeof(*run->response);
	run->response = mmap(NULL, size, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (run->response == MAP_FAILED) {
		fprintf(stderr, "isolated_cpu: no memory for %u samples\n", run->samples);
		return 1;
	}
	return run_all(run) ? 1 : 0;
}
