// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "aoi.h"
#include "clock.h"
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void usage(FILE *out)
{
	fprintf(out,
		"Usage: age_of_information [OPTION]...\n"
		"Age of information across a real-time datagram protocol between two network\n"
		"namespaces, which are made for it and go when it ends, however it ends. Leaves\n"
		"summary.csv, iterations.csv and packets.csv in the working directory. Root only.\n"
		"\n"
		"  -t, --timing=LIST    nanosleep, clockfix, poll; they take turns\n"
		"                       (nanosleep,clockfix)\n"
		"  -i, --iterations=N   iterations of each (10); one more in the other direction\n"
		"  -n, --packets=N      packets to record in an iteration (1000)\n"
		"  -w, --warmup=N       packets before these (500)\n"
		"  -r, --rate=BITS      the link's rate per second; 0: no limit (0)\n"
		"\n"
		"Exit status: 0 measured, 1 failed, 2 wrong usage.\n");
}

static void set_timings(char *list, void *to)
{
	struct options *options = to;
	char *word;

	options->timings = 0;
	while ((word = strsep(&list, ","))) {
		int kind = 0;

		while (kind < TIMING_KINDS && strcmp(word, timing_names[kind]))
			kind++;
		if (kind == TIMING_KINDS || options->timings == TIMINGS_MAX) {
			fprintf(stderr, "age_of_information: --timing: '%s': there are nanosleep, clockfix and "
				"poll\n", word);
			exit(2);
		}
		options->timing[options->timings++] = kind;
	}
}

static struct iteration *new_iteration(const struct run *run)
{
	size_t size = sizeof(struct iteration) +
		      (run->options.warmup + run->options.packets) * sizeof(struct record);
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (memory == MAP_FAILED) {
		fprintf(stderr, "age_of_information: no memory for %zu bytes\n", size);
		exit(1);
	}
	return memory;
}

/* The timings take turns; the last of each is in the other direction. */
static void plan(struct run *run)
{
	const struct options *o = &run->options;

	run->count = (o->iterations + 1) * o->timings;
	run->iterations = calloc(run->count, sizeof(*run->iterations));
	if (!run->iterations) {
		fprintf(stderr, "age_of_information: no memory\n");
		exit(1);
	}
	for (int i = 0; i < run->count; i++) {
		run->iterations[i] = new_iteration(run);
		run->iterations[i]->timing = o->timing[i % o->timings];
		run->iterations[i]->reverse = i / o->timings == o->iterations;
	}
}

int main(int argc, char **argv)
{
	struct run run = {
		.options = {
			.timing = { TIMING_NANOSLEEP, TIMING_CLOCKFIX }, .timings = 2,
			.iterations = 10, .packets = 1000, .warmup = 500, .payload = 1172,
			.priority = 80, .deadline = 20 * NSEC_PER_MSEC,
		},
		.nodes[1] = {
			.cpu = sysconf(_SC_NPROCESSORS_ONLN) > 1,
			.clock_offset = 2500 * NSEC_PER_MSEC, .clock_drift = 40000,
		},
	};
	struct options *o = &run.options;
	const struct opt opts[] = {
		{ 't', "timing", OPT_TEXT(set_timings, o) },
		{ 'i', "iterations", OPT_NUMBER(&o->iterations, 1, 1000) },
		{ 'n', "packets", OPT_NUMBER(&o->packets, 10, 1000000) },
		{ 'w', "warmup", OPT_NUMBER(&o->warmup, 1, 1000000) },
		{ 'r', "rate", OPT_WIDE((int64_t *)&o->rate, 0, 30000000000) },
		{ }
	};
	int ret;

	parse_options(argc, argv, opts, usage);
	plan(&run);
	ret = network_create(&run);
	if (ret) {
		fprintf(stderr, "age_of_information: network: %s\n", strerror(-ret));
		return 1;
	}
	run.zero = clock_ns();
	for (int i = 0; i < run.count; i++) {
		ret = process_run_iteration(&run, run.iterations[i]);
		if (ret) {
			fprintf(stderr, "age_of_information: iteration %d failed\n", i);
			break;
		}
	}
	if (!ret)
		record_write(&run);
	free(run.iterations);
	return ret ? 1 : 0;
}
