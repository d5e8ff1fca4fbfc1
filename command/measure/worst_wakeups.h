/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a loop measured, and what the CPU did before the worst wake-ups. */
#ifndef TIMERSHIELD_MEASURE_WORST_WAKEUPS_H
#define TIMERSHIELD_MEASURE_WORST_WAKEUPS_H

#include "blame/session.h"
#include "loop.h"

struct worst_wakeups {
	unsigned int taken;		/* of the loop's candidates */
	struct {
		struct wakeup wakeup;
		struct segment *segments;
		unsigned int count;
	} worst[WORST];
};

/* Takes in the loop's new candidates, while what the CPU did then is still known. */
void worst_wakeups_update(struct worst_wakeups *reasons, struct session *session,
			  const struct loop *loop);

/* The rows of all of the worst wake-ups. */
void worst_wakeups_report(const struct worst_wakeups *reasons, const struct loop *loop,
		    struct report *report);

/* Prints what the CPU did in the very worst one. */
void worst_wakeups_timeline(const struct worst_wakeups *reasons, const struct loop *loop);

void worst_wakeups_free(struct worst_wakeups *reasons);

/* REPORT: what was to blame for the worst wake-ups; of no losers if that is not known. */
void measure_print_text(const struct loop *loops, unsigned int count, unsigned int worst,
			const struct report *report);
void measure_json(const struct loop *loops, unsigned int count, unsigned int worst,
		  const struct report *report);
void measure_csv(const struct loop *loop);

/* Saves what "timershield status" quotes. */
void measure_save(const struct loop *loop);

#endif
