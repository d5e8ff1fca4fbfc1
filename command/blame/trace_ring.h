/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's trace buffer of one CPU, read page by page. */
#ifndef TIMERSHIELD_BLAME_TRACE_RING_H
#define TIMERSHIELD_BLAME_TRACE_RING_H

#include "blame_types.h"

#include <stdbool.h>
#include <stddef.h>

#define MAX_PAGE 65536

struct trace_ring {
	int fd;				/* of trace_pipe_raw, not blocking */
	size_t at, end;			/* in the page */
	u64 time;
	u64 lost;			/* events, since the start */
	bool gap;			/* some were lost just before the event */
	bool empty;			/* for the reader: it was, when looked at last */

	/* the event that is next, if there is one */
	bool ready;
	const unsigned char *event;
	unsigned char page[MAX_PAGE];
};

/* Makes the next event ready if there is one; 0 or -errno. */
int trace_ring_next(struct trace_ring *ring);

#endif
