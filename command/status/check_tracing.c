// SPDX-License-Identifier: GPL-2.0-or-later
/* Status: events that are still recorded for a "timershield blame" that was killed. */
#include "finding.h"
#include "blame/trace_events.h"
#include "lib/file.h"

#include <stdlib.h>
#include <string.h>

static int add_stale(const char *name, void *argument)
{
	struct inspection *inspection = argument;
	autofree char *mend = NULL;

	if (!trace_is_stale(name))
		return 0;
	mend = format("rmdir %s/%s", TRACE_INSTANCES, name);
	finding_add(&inspection->findings, FINDING_WARNING, "tracing", mend,
		    "A 'timershield blame' was killed, and its events are still recorded at every task switch and interrupt.");
	return 0;
}

void check_tracing(struct inspection *inspection)
{
	file_for_each(TRACE_INSTANCES, add_stale, inspection);
}
