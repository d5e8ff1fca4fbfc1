/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Distributions of response times as inline SVG. */
#ifndef TIMERSHIELD_PLOT_H
#define TIMERSHIELD_PLOT_H

#include "verdict.h"

#include "lib/text.h"

/* What all plots show, us and jobs; starts as { 0 }. */
struct scale {
	double low, high, tail;		/* the shortest response, p99.9, the longest one */
	unsigned int most;		/* jobs of a curve */
};

void plot_include(struct scale *scale, const struct figures *figures);

/*
 * A distribution, and next to it or below it the tail on logarithmic axes, of a load's response
 * times with the shield off (dashed) and on (solid; ON may have no samples), and of the loop
 * next to nothing (dotted; NULL: not drawn).
 */
void plot_distribution(struct text *svg, const struct scale *scale, const struct figures *alone,
		       const struct figures *off, const struct figures *on);

#endif
