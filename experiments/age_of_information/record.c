// SPDX-License-Identifier: GPL-2.0-or-later
/* What is left behind: summary.csv, iterations.csv, packets.csv. */
#include "aoi.h"
#include "csv.h"

#include <inttypes.h>
#include <stdio.h>

static void write_summary(const struct run *run)
{
	const struct options *o = &run->options;
	FILE *out = csv_create("summary.csv", "name,value");

	fprintf(out, "packets,%d\nwarmup,%d\npayload,%d\n", o->packets, o->warmup, o->payload);
	fprintf(out, "priority,%d\n", o->priority);
	fprintf(out, "deadline_ns,%" PRId64 "\n", o->deadline);
	fprintf(out, "rate_bit_s,%" PRIu64 "\n", o->rate);
	fprintf(out, "clock_offset_ns,%" PRId64 "\nclock_drift_ppb,%" PRId64 "\n",
		run->nodes[1].clock_offset, run->nodes[1].clock_drift);
	csv_finish(out, "summary.csv");
}

static void write_iterations(const struct run *run)
{
	FILE *out = csv_create("iterations.csv",
			       "iteration,timing,reverse,elapsed_ns,sender_cpu_ns,receiver_cpu_ns,"
			       "bottleneck_ns,min_rtt_ns,reported_lost");

	for (int i = 0; i < run->count; i++) {
		const struct iteration *it = run->iterations[i];

		fprintf(out, "%d,%s,%d,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
			",%" PRId64 "\n", i, timing_names[it->timing], it->reverse, it->elapsed,
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

void record_write(const struct run *run)
{
	write_summary(run);
	write_iterations(run);
	write_packets(run);
}
