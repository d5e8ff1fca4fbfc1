// SPDX-License-Identifier: GPL-2.0-or-later
/* Command line, and the order of things. */
#define _GNU_SOURCE
#include "shielded.h"
#include "clock.h"
#include "file.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCS	"/proc/shield/procs"
#define IRQS	"/proc/shield/irqs"
#define SETTLE_NS (100 * NSEC_PER_MSEC)

static const char help[] =
	"Usage: shielded [--samples=N] [--load=none|spin|kernel] [--shield] [--break=US]\n"
	"\n"
	"Reads a 2048 Hz interrupt with a SCHED_FIFO task on CPU 0 and writes\n"
	"samples.csv, visitors.csv and summary.csv to the working directory.\n"
	"\n"
	"  --samples=N   how many interrupts (default 10240)\n"
	"  --load=KIND   what runs besides: nothing, tasks that compute, or tasks that\n"
	"                keep the kernel busy (default kernel)\n"
	"  --break=US    end at a response that takes longer; trace.txt has what both CPUs did\n"
	"  --shield      shield CPU 0 from all other tasks and interrupts meanwhile\n";

static int set_shield(bool on)
{
	int ret = file_write(PROCS, on ? "0\n" : "\n");

	if (!ret)
		ret = file_write(IRQS, on ? "0\n" : "\n");
	if (ret)
		fprintf(stderr, "shielded: /proc/shield: %s\n", strerror(-ret));
	return ret;
}

int set_cpus(unsigned long mask)
{
	return syscall(SYS_sched_setaffinity, 0, sizeof(mask), &mask) < 0 ? -errno : 0;
}

static int parse_load(const char *name, enum load *load)
{
	static const char *const names[] = { "none", "spin", "kernel" };

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(name, names[i])) {
			*load = i;
			return 0;
		}
	}
	return -EINVAL;
}

static int parse(int argc, char **argv, struct run *run)
{
	static const struct option options[] = {
		{ "samples", required_argument, NULL, 'n' },
		{ "load", required_argument, NULL, 'l' },
		{ "break", required_argument, NULL, 'b' },
		{ "shield", no_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (option) {
		case 'n':
			run->samples = strtoul(optarg, NULL, 0);
			break;
		case 'l':
			if (parse_load(optarg, &run->load))
				return -EINVAL;
			break;
		case 'b':
			run->break_ns = strtoul(optarg, NULL, 0) * NSEC_PER_USEC;
			break;
		case 's':
			run->shield = true;
			break;
		case 'h':
			fputs(help, stdout);
			exit(0);
		default:
			return -EINVAL;
		}
	}
	return optind == argc && run->samples ? 0 : -EINVAL;
}

/* The measured task's process: on its CPU alone before anything else is there. */
static int become_measured(void)
{
	struct sched_param param = { .sched_priority = PRIORITY };

	prctl(PR_SET_NAME, "measured");
	prctl(PR_SET_TIMERSLACK, 1);
	if (set_cpus(1ul << MEASURED_CPU) || sched_setscheduler(0, SCHED_FIFO, &param) ||
	    mlockall(MCL_CURRENT | MCL_FUTURE)) {
		fprintf(stderr, "shielded: the measured task: %m\n");
		return -errno;
	}
	return 0;
}

static int measured_process(struct run *run)
{
	int ret = become_measured();

	if (!ret)
		ret = measure(run);
	return ret;
}

static int run_measured(struct run *run)
{
	int status;
	pid_t pid;

	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid)
		_exit(-measured_process(run));
	run->pid = pid;
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
	ret = trace_start(run);
	if (ret)
		return ret;
	if (run->shield) {
		ret = set_shield(true);
		if (ret)
			return ret;
		load_give_no_way();
	} else {
		load_give_less_way();
		sleep_until(clock_ns() + SETTLE_NS);
	}
	run->shield_ns = clock_ns();
	ret = run_measured(run);
	if (ret)
		fprintf(stderr, "shielded: measuring: %s\n", strerror(-ret));
	if (!ret)
		ret = trace_stop(run);
	if (run->shield)
		set_shield(false);
	return ret ?: record_write(run);
}

int main(int argc, char **argv)
{
	size_t size;
	struct run *run;

	run = mmap(NULL, sizeof(*run), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run == MAP_FAILED)
		return 1;
	run->samples = 5 * RATE;
	run->load = LOAD_KERNEL;
	if (parse(argc, argv, run)) {
		fputs(help, stderr);
		return 2;
	}
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		fprintf(stderr, "shielded: takes two CPUs\n");
		return 1;
	}
	size = run->samples * sizeof(*run->sample);
	run->sample = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (run->sample == MAP_FAILED) {
		fprintf(stderr, "shielded: no memory for %u samples\n", run->samples);
		return 1;
	}
	return run_all(run) ? 1 : 0;
}
