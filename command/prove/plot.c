// SPDX-License-Identifier: GPL-2.0-or-later
#include "plot.h"

#include <math.h>

#define WIDTH 430.0			/* of each half */
#define HEIGHT 250.0
#define LEFT 68.0
#define RIGHT 14.0
#define TOP 10.0
#define BOTTOM 40.0
#define STEPS 160			/* points of a curve */

struct axes {
	double low, high;		/* us */
	double least;			/* share at the bottom of a logarithmic axis; 0: linear */
	bool log_x;
};

static double x_of(const struct axes *axes, double us)
{
	double share = axes->log_x ? log(us / axes->low) / log(axes->high / axes->low) :
				     (us - axes->low) / (axes->high - axes->low);

	return LEFT + share * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct axes *axes, double share)
{
	double up = axes->least ? 1 - log10(share) / log10(axes->least) : share;

	return HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM);
}

static void add_label(struct text *svg, double x, double y, const char *anchor, const char *label)
{
	text_add(svg, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor,
		 label);
}

static void add_line(struct text *svg, double x1, double y1, double x2, double y2)
{
	text_add(svg, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x1, y1, x2, y2);
}

static void add_x_tick(struct text *svg, const struct axes *axes, double us)
{
	autofree char *label = format("%g", us);
	double x = x_of(axes, us);

	add_line(svg, x, TOP, x, HEIGHT - BOTTOM);
	add_label(svg, x, HEIGHT - BOTTOM + 14, "middle", label);
}

static void add_y_tick(struct text *svg, const struct axes *axes, double share)
{
	autofree char *label = format("%g", share);
	double y = y_of(axes, share);

	add_line(svg, LEFT, y, WIDTH - RIGHT, y);
	add_label(svg, LEFT - 5, y + 3.5, "end", label);
}

/* 1, 2 or 5 times a power of ten, so that there are about six. */
static double step_of(double span)
{
	static const double factors[] = { 1, 2, 5, 10 };
	double power = pow(10, floor(log10(span / 6)));

	for (size_t i = 0; i < ARRAY_SIZE(factors); i++)
		if (span / (power * factors[i]) <= 7)
			return power * factors[i];
	return power * 10;
}

static void add_x_ticks(struct text *svg, const struct axes *axes)
{
	static const double factors[] = { 1, 2, 5 };
	double step = step_of(axes->high - axes->low);

	if (!axes->log_x || axes->high < 4 * axes->low) {
		for (double us = ceil(axes->low / step) * step; us <= axes->high; us += step)
			add_x_tick(svg, axes, us);
		return;
	}
	for (double power = pow(10, floor(log10(axes->low))); power <= axes->high; power *= 10)
		for (size_t i = 0; i < ARRAY_SIZE(factors); i++)
			if (power * factors[i] >= axes->low && power * factors[i] <= axes->high)
				add_x_tick(svg, axes, power * factors[i]);
}

static void add_frame(struct text *svg, const struct axes *axes, const char *label)
{
	double bottom = HEIGHT - BOTTOM, left = LEFT;

	text_add(svg, "<g class=\"grid\">\n");
	add_x_ticks(svg, axes);
	if (axes->least)
		for (double share = 1; share >= axes->least; share /= 10)
			add_y_tick(svg, axes, share);
	else
		for (int i = 0; i <= 5; i++)
			add_y_tick(svg, axes, i / 5.0);
	text_add(svg, "</g>\n<path class=\"axis\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", left, TOP, bottom,
		 WIDTH - RIGHT);
	add_label(svg, (WIDTH + LEFT) / 2, HEIGHT - 8, "middle", "response time, us");
	text_add(svg,
		 "<text transform=\"translate(%.1f %.1f) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
		 14.0, (TOP + bottom) / 2, label);
}

/* The share of jobs that took no longer, or as long or longer, at some of the samples. */
static void add_curve(struct text *svg, const struct axes *axes, const struct figures *figures,
		      const char *class)
{
	unsigned int last = figures->count;
	char command = 'M';

	if (!figures->count)
		return;
	text_add(svg, "<path class=\"%s\" d=\"", class);
	for (int i = 0; i <= STEPS; i++) {
		/* evenly along the axis of shares */
		double share = axes->least ? pow(figures->count, -(double)i / STEPS) :
					     1 - (double)i / STEPS;
		unsigned int at = (unsigned int)((1 - share) * figures->count);
		double us;

		if (at >= figures->count)
			at = figures->count - 1;
		if (at == last)
			continue;
		last = at;
		us = (double)figures->responses[at] / 1000;
		share = axes->least ? 1 - (double)at / figures->count :
				      (double)(at + 1) / figures->count;
		if (us > axes->high)
			us = axes->high;
		text_add(svg, "%c%.1f %.1f", command, x_of(axes, us), y_of(axes, share));
		command = 'L';
	}
	text_add(svg, "\"/>\n");
}

void plot_include(struct scale *scale, const struct figures *figures)
{
	const double first = (double)figures->responses[0] / 1000;

	if (!scale->high || first < scale->low)
		scale->low = fmax(floor(first / 5) * 5, 1);
	scale->high = fmax(scale->high, ceil((double)figures->p999 / 5000) * 5);
	scale->tail = fmax(scale->tail, ceil((double)figures->max / 5000) * 5);
	if (figures->count > scale->most)
		scale->most = figures->count;
}

static void plot_half(struct text *svg, const struct axes *axes, const char *label,
		      const struct figures *alone, const struct figures *off,
		      const struct figures *on)
{
	text_add(svg, "<svg viewBox=\"0 0 %.0f %.0f\" overflow=\"visible\" role=\"img\">\n", WIDTH,
		 HEIGHT);
	add_frame(svg, axes, label);
	if (alone)
		add_curve(svg, axes, alone, "alone");
	add_curve(svg, axes, off, "off");
	add_curve(svg, axes, on, "on");
	text_add(svg, "</svg>\n");
}

void plot_distribution(struct text *svg, const struct scale *scale, const struct figures *alone,
		       const struct figures *off, const struct figures *on)
{
	struct axes left = { .low = scale->low, .high = fmax(scale->high, scale->low + 5) };
	struct axes right = { .low = scale->low, .high = fmax(scale->tail, scale->low + 5) };

	left.log_x = left.high > 4 * left.low;
	right.log_x = right.high > 2 * right.low;
	right.least = pow(10, -ceil(log10(scale->most)));
	plot_half(svg, &left, "share of jobs that took no longer", alone, off, on);
	plot_half(svg, &right, "share that took as long or longer", alone, off, on);
}
