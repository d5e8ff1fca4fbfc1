// SPDX-License-Identifier: GPL-2.0-or-later
/* Status: events that are still recorded for a "timershield blame" that was killed. */
#include "finding.h"
#include "blame/trace_events.h"
#include "lib/file.h"

void check_tracing(struct inspection *inspection)
{
	autonames struct names names = { 0 };

	file_names(TRACE_INSTANCES, &names);
	for (size_t i = 0; i < names.count; i++) {
		autofree char *mend = format("rmdir %s/%s", TRACE_INSTANCES, names.items[i]);

		if (trace_is_stale(names.items[i]))
			finding_add(&inspection->findings, FINDING_WARNING, "tracing", mend,
				    "A 'timershield blame' was killed, and its events are still recorded at every task switch and interrupt.");
	}
}
