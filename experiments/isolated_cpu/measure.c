// SPDX-License-Identifier: GPL-2.0-or-later
/* The loop that reads the interrupt, and what it leaves behind: samples.csv and summary.csv. */
#define _GNU_SOURCE
#include "isolated.h"
#include "clock.h"
#include "csv.h"
#include "source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

int measure(struct run *run)
{
	struct source source;
	uint32_t index = 0;
	int ret;

	ret = run->device ? source_open_hpet(&source, MEASURED_CPU) : source_open_timer(&source);
	if (ret)
		return ret;
	run->period_ns = source.period_ns;
	run->start_ns = source.start_ns;
	for (unsigned int i = 0; i < run->samples; i++) {
		struct sample *sample = &run->sample[i];
		uint32_t count = source_wait(&source);

		if (!count)
			return -EIO;
		sample->woke_ns = clock_ns();
		sample->due_ns = source_due_ns(&source, index, count, sample->woke_ns);
		index += count;
		sample->index = index;
	}
	close(source.fd);
	return 0;
}

static void write_samples(const struct run *run)
{
	FILE *file = csv_create("samples.csv", "interrupt,woke_ns,interval_ns,response_ns");
	int64_t before = run->start_ns;

	for (unsigned int i = 0; i < run->samples; i++) {
		const struct sample *sample = &run->sample[i];

		fprintf(file, "%" PRIu32 ",%" PRId64 ",%" PRId64 ",%" PRId64 "\n", sample->index,
			sample->woke_ns - run->start_ns, sample->woke_ns - before,
			sample->woke_ns - sample->due_ns);
		before = sample->woke_ns;
	}
	csv_finish(file, "samples.csv");
}

void record_write(const struct run *run)
{
	FILE *file;

	write_samples(run);
	file = csv_create("summary.csv", "name,value");
	fprintf(file, "samples,%u\nperiod_ns,%d\nisolated,%d\nmissed,%" PRIu32 "\n",
		run->samples, run->period_ns, run->isolate,
		run->sample[run->samples - 1].index - run->samples);
	csv_finish(file, "summary.csv");
}
