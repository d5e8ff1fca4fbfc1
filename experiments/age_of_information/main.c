// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "aoi.h"
#include "clock.h"
#include "csv.h"
#include "options.h"
#include "tasks.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const names[TIMING_KINDS] = { "nanosleep", "clockfix", "poll" };
static FILE *iterations, *packets;

static int node_run(struct run *run, struct iteration *iteration, int node)
{
	int ret = network_enter(&run->nodes[node]);
	struct timespec time;

	if (!ret)
		ret = task_pin(run->nodes[node].cpu);
	if (!ret)
		ret = task_fifo(0, PRIORITY);
	if (!ret && mlockall(MCL_CURRENT | MCL_FUTURE))
		ret = -errno;
	if (!ret)
		ret = node ? receiver_run(run, iteration) : sender_run(run, iteration);
	if (ret)
		fprintf(stderr, "age_of_information: %s: %s\n", node ? "receiver" : "sender",
			strerror(-ret));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	iteration->cpu_time[node] = time.tv_sec * NSEC_PER_SEC + time.tv_nsec;
	return ret;
}

/* Two processes, which end with this one. */
static int run_iteration(struct run *run, struct iteration *iteration)
{
	int status, ret = 0;

	for (int node = 0; node < NODES; node++) {
		pid_t parent = getpid(), pid = fork();

		if (pid < 0)
			return -errno;
		if (pid)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(getppid() != parent || node_run(run, iteration, node));
	}
	while (wait(&status) > 0)
		if (status)
			ret = -ECHILD;
	return ret;
}

static void record(const struct run *run, const struct iteration *it, int number)
{
	fprintf(iterations, "%d,%s,%" PRId64 ",%" PRId64 ",%" PRId64 "\n", number,
		names[it->timing], it->elapsed, it->cpu_time[0], it->cpu_time[1]);
	for (int k = 0; k < run->packets; k++) {
		const struct record *r = &it->records[run->warmup + k];

		fprintf(packets, "%d,%d,%" PRId64 ",%" PRId64 ",%" PRId64 ",%d\n", number, k,
			r->due, r->sent, r->received, r->received != 0);
	}
}

int main(int argc, char **argv)
{
	struct run run = {
		.iterations = 10, .packets = 1000, .warmup = 500, .rate = 300000000,
		.nodes[1].cpu = sysconf(_SC_NPROCESSORS_ONLN) > 1,
	};
	const struct opt opts[] = {
		{ "iterations", "N", "iterations of each way to wait (10)",
		  OPT_NUMBER(&run.iterations, 1, 1000) },
		{ "packets", "N", "packets to record in an iteration (1000)",
		  OPT_NUMBER(&run.packets, 10, 1000000) },
		{ "warmup", "N", "packets before these (500)", OPT_NUMBER(&run.warmup, 1, 1000000) },
		{ "rate", "BITS", "the link's rate per second (300000000)",
		  OPT_WIDE(&run.rate, 1000000, 30000000000) },
		{ }
	};
	struct iteration *iteration;
	FILE *summary;
	size_t size;
	int ret;

	parse_options(argc, argv, opts,
		      "Age of information across datagrams between two network namespaces, which are made\n"
		      "for it and go when it ends, however it ends. Leaves summary.csv, iterations.csv and\n"
		      "packets.csv in the working directory. Root only.", NULL);
	size = sizeof(*iteration) + (run.warmup + run.packets) * sizeof(struct record);
	iteration = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ret = iteration == MAP_FAILED ? -errno : network_create(&run);
	if (ret) {
		fprintf(stderr, "age_of_information: network: %s\n", strerror(-ret));
		return 1;
	}
	iterations = csv_create("iterations.csv",
				"iteration,timing,elapsed_ns,sender_cpu_ns,receiver_cpu_ns");
	packets = csv_create("packets.csv", "iteration,packet,due_ns,sent_ns,received_ns,status");
	for (int i = 0; i < run.iterations * TIMING_KINDS; i++) {	/* they take turns */
		memset(iteration, 0, size);
		iteration->timing = i % TIMING_KINDS;
		if (run_iteration(&run, iteration))
			return 1;
		record(&run, iteration, i);
	}
	csv_finish(iterations, "iterations.csv");
	csv_finish(packets, "packets.csv");
	summary = csv_create("summary.csv", "name,value");
	fprintf(summary, "packets,%d\nwarmup,%d\nrate_bit_s,%" PRId64 "\n", run.packets, run.warmup,
		run.rate);
	csv_finish(summary, "summary.csv");
	return 0;
}
