// SPDX-License-Identifier: GPL-2.0-or-later
/* What is left behind: samples.csv and summary.csv. */
#define _GNU_SOURCE
#include "isolated.h"
#include "csv.h"

#include <inttypes.h>
#include <stdio.h>

/* When the first interrupt was due that had not been read before this sample. */
static int64_t due_ns(const struct run *run, unsigned int index)
{
	uint32_t before = index ? run->sample[index - 1].index : 0;

	return run->start_ns + (int64_t)(before + 1) * PERIOD_NS;
}

static void write_samples(const struct run *run)
{
	FILE *file = csv_create("samples.csv", "interrupt,woke_ns,interval_ns,response_ns");
	int64_t before = run->start_ns;

	for (unsigned int i = 0; i < run->samples; i++) {
		const struct sample *sample = &run->sample[i];

		fprintf(file, "%" PRIu32 ",%" PRId64 ",%" PRId64 ",%" PRId64 "\n", sample->index,
			sample->woke_ns - run->start_ns, sample->woke_ns - before,
			sample->woke_ns - due_ns(run, i));
		before = sample->woke_ns;
	}
	csv_finish(file, "samples.csv");
}

void record_write(const struct run *run)
{
	FILE *file;

	write_samples(run);
	file = csv_create("summary.csv", "name,value");
	fprintf(file, "samples,%u\nperiod_ns,%d\nshielded,%d\nmissed,%" PRIu32 "\n",
		run->samples, PERIOD_NS, run->shield,
		run->sample[run->samples - 1].index - run->samples);
	csv_finish(file, "summary.csv");
}
