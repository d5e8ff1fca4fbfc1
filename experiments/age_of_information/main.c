// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "aoi.h"
#include "clock.h"
#include "csv.h"
#include "options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* The timings take turns. */
static void plan(struct run *run)
{
	const struct options *o = &run->options;

	run->count = o->iterations * o->timings;
	run->iterations = calloc(run->count, sizeof(*run->iterations));
	if (!run->iterations) {
		fprintf(stderr, "age_of_information: no memory\n");
		exit(1);
	}
	for (int i = 0; i < run->count; i++) {
		run->iterations[i] = new_iteration(run);
		run->iterations[i]->timing = o->timing[i % o->timings];
	}
}

/* What is left behind: summary.csv, iterations.csv, packets.csv. */
static void write_summary(const struct run *run)
{
	const struct options *o = &run->options;
	FILE *out = csv_create("summary.csv", "name,value");

	fprintf(out, "packets,%d\nwarmup,%d\npayload,%d\n", o->packets, o->warmup, o->payload);
	fprintf(out, "priority,%d\n", o->priority);
	fprintf(out, "deadline_ns,%" PRId64 "\n", o->deadline);
	fprintf(out, "rate_bit_s,%" PRIu64 "\n", o->rate);
	csv_finish(out, "summary.csv");
}

static void write_iterations(const struct run *run)
{
	FILE *out = csv_create("iterations.csv",
			       "iteration,timing,elapsed_ns,sender_cpu_ns,receiver_cpu_ns,"
			       "bottleneck_ns,min_rtt_ns,reported_lost");

	for (int i = 0; i < run->count; i++) {
		const struct iteration *it = run->iterations[i];

		fprintf(out, "%d,%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
			",%" PRId64 "\n", i, timing_names[it->timing], it->elapsed,
			it->cpu_sender, it->cpu_receiver, it->bottleneck, it->min_rtt,
			it->reported_lost);
	}
	csv_finish(out, "iterations.csv");
}

static void write_packets(const struct run *run)
{
	FILE *out = csv_create("packets.csv",
			       "iteration,packet,due_ns,sent_ns,arrival_ns,received_ns,status");

	for (int i = 0; i < run->count; i++) {
		for (int k = 0; k < run->options.packets; k++) {
			const struct record *r =
				&run->iterations[i]->records[run->options.warmup + k];

			fprintf(out, "%d,%d,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%d\n",
				i, k, r->due, r->sent, r->arrival, r->received, r->status);
		}
	}
	csv_finish(out, "packets.csv");
}

static void record_write(const struct run *run)
{
	write_summary(run);
	write_iterations(run);
	write_packets(run);
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
		},
	};
	struct options *o = &run.options;
	const struct opt opts[] = {
		{ "timing", "LIST", "nanosleep, clockfix, poll; they take turns (nanosleep,clockfix)",
		  OPT_TEXT(set_timings, o) },
		{ "iterations", "N", "iterations of each (10)",
		  OPT_NUMBER(&o->iterations, 1, 1000) },
		{ "packets", "N", "packets to record in an iteration (1000)",
		  OPT_NUMBER(&o->packets, 10, 1000000) },
		{ "warmup", "N", "packets before these (500)", OPT_NUMBER(&o->warmup, 1, 1000000) },
		{ "rate", "BITS", "the link's rate per second; 0: no limit (0)",
		  OPT_WIDE((int64_t *)&o->rate, 0, 30000000000) },
		{ }
	};
	int ret;

	parse_options(argc, argv, opts,
		      "Age of information across a real-time datagram protocol between two network\n"
		      "namespaces, which are made for it and go when it ends, however it ends. Leaves\n"
		      "summary.csv, iterations.csv and packets.csv in the working directory. Root only.",
		      NULL);
	plan(&run);
	ret = network_create(&run);
	if (ret) {
		fprintf(stderr, "age_of_information: network: %s\n", strerror(-ret));
		return 1;
	}
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
