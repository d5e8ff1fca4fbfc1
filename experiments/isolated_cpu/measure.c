// SPDX-License-Identifier: GPL-2.0-or-later
/* The loop that reads the interrupt. */
#define _GNU_SOURCE
#include "isolated.h"
#include "clock.h"
#include "source.h"

#include <errno.h>
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
