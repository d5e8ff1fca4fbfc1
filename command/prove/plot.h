/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Distributions of response times as inline SVG, and the page around them. */
#ifndef TIMERSHIELD_PLOT_H
#define TIMERSHIELD_PLOT_H

#include "verdict.h"

#include "lib/text.h"

/*
 * A distribution, and to its right the tail on logarithmic axes, of a load's response times
 * with the shield off (dashed) and on (solid; ON may have no samples).
 */
void plot_distribution(struct text *svg, const struct figures *off, const struct figures *on);

#endif
