/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the CPU did before the worst wake-ups. */
#ifndef TIMERSHIELD_MEASURE_REASONS_H
#define TIMERSHIELD_MEASURE_REASONS_H

#include "../blame/report.h"
#include "../blame/session.h"
#include "loop.h"

struct reasons {
	unsigned int taken;		/* of the loop's candidates */
	struct {
		struct wakeup wakeup;
		struct segment *segments;
		unsigned int count;
	} worst[WORST];
};

/* Takes in the loop's new candidates, while what the CPU did then is still known. */
void reasons_update(struct reasons *reasons, struct session *session, const struct loop *loop);

/* The rows of all of the worst wake-ups. */
void reasons_report(const struct reasons *reasons, const struct loop *loop,
		    struct report *report);
void reasons_free(struct reasons *reasons);

#endif
