// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * estimator.c - predict the next oversleep from those seen
 *
 * A margin costs what is polled because of it, and each late sleep has a price. Of the values in
 * the window the one is chosen with which that is least. So a single outlier at the top of the
 * window does not raise the margin, and what happens too often to be covered is not covered.
 */
#include <string.h>

#include "estimator.h"

#define PPM		1000000
#define LATE_PPM	15000
#define LATE_PPM_2MS	5000	/* the longer the sleep the less polling costs */
#define LATE_PPM_8MS	1700
#define WINDOW_LEAST	32	/* values from which on late sleeps tell anything */
#define SPREAD_FIRST	20000	/* ns: until it is known */
#define SPREAD_LEAST	400
#define SPREAD_MOST	1000000
/* ns of polling that one punctual sleep may cost by default: its length, but within these */
#define PRICE_LIMIT_LEAST 1e6
#define PRICE_LIMIT_MOST 5e6
#define PRICE_ANY	1e9	/* and where the program says how many may be late */
#define STEP		0.0005	/* by which a punctual sleep lowers it */
#define SPREADS_MOST	8	/* the price, in spreads of the last values */
#define LOG_2		0.693
#define LOG_8		2.079
#define TRIAL_LEAST	(1.0 / 128)	/* trials for each sleep declined, at least */

/* ---- windows ---------------------------------------------------------------------------- */

/* number of values in @win that are less than @value */
static uint32_t window_below(const struct window *win, int32_t value)
{
	uint32_t low = 0, len = win->count;

	while (len) {
		uint32_t half = len / 2;
		bool less = win->sorted[low + half] < value;

		low += less ? half + 1 : 0;
		len = less ? len - half - 1 : half;
	}
	return low;
}

static void window_add(struct window *win, int32_t value)
{
	uint32_t at = window_below(win, value), old;

	if (win->count < WINDOW) {
		memmove(&win->sorted[at + 1], &win->sorted[at],
			(win->count - at) * sizeof(*win->sorted));
		win->sorted[at] = value;
		win->ring[win->count++] = value;
		return;
	}
	old = window_below(win, win->ring[win->oldest]);
	if (at > old) {
		at--;
		memmove(&win->sorted[old], &win->sorted[old + 1],
			(at - old) * sizeof(*win->sorted));
	} else {
		memmove(&win->sorted[at + 1], &win->sorted[at],
			(old - at) * sizeof(*win->sorted));
	}
	win->sorted[at] = value;
	win->ring[win->oldest] = value;
	win->oldest = (win->oldest + 1) % WINDOW;
}

/* ---- the price -------------------------------------------------------------------------- */

static double within(double value, double least, double most)
{
	return value < least ? least : value > most ? most : value;
}

/* The spread of the values in the window, from eight times the share of late ones to that share. */
static double spread_seen(const struct regime *reg)
{
	const struct window *win = &reg->window;
	uint32_t n = win->count, k = (uint64_t)n * reg->late_ppm / PPM;

	k = k < 2 ? 2 : k > n / 8 ? n / 8 : k;
	return ((double)win->sorted[n - k] - win->sorted[n - 8 * k]) / LOG_8;
}

/* Each is twice the one before. */
static unsigned int width_of(double spread)
{
	unsigned int width = 0;

	while (width < WIDTHS - 1 && spread >= 2 * SPREAD_LEAST) {
		spread /= 2;
		width++;
	}
	return width;
}

/*
 * Of values that thin out exponentially the wanted share is late if the price is their spread
 * divided by that share. The spread that does it is found by raising it after each late sleep and
 * lowering it after the others: slowly, as a price that varies makes the margin vary, which costs.
 * So that it does not outlast what made it high it is limited by the spread in the window, and when
 * the window's width changes it returns to what it was at that width: so it does after an event.
 * What differs by less than a factor of two is chance: windows vary without an event.
 */
static void adapt_spread(struct regime *reg, bool trial, bool late)
{
	double seen, last, most;
	unsigned int width;

	if (trial)
		/* until what it saw has left the window, and some time to take effect */
		reg->after_trial = WINDOW + WINDOW / 4;
	else if (reg->after_trial)
		reg->after_trial--;
	if (reg->window.count < WINDOW_LEAST)
		return;
	if (!trial)
		reg->spread *= late ? reg->raise : 1 - STEP;
	if (reg->window.count < WINDOW / 4) {
		reg->spread = within(reg->spread, SPREAD_LEAST, SPREAD_MOST);
		return;
	}
	seen = spread_seen(reg);
	width = width_of(seen);
	last = reg->spread_at[width];
	if (width != reg->width && last && (reg->spread > 2 * last || last > 2 * reg->spread))
		reg->spread = last;
	most = within((reg->after_trial ? 2 : SPREADS_MOST) * seen, SPREAD_LEAST, SPREAD_MOST);
	reg->spread = within(reg->spread, SPREAD_LEAST, most);
	reg->width = width;
	reg->spread_at[width] = reg->spread;
}

/* One late sleep raises it by as much as the punctual ones for each late one lower it. */
static double raise_for(uint32_t late_ppm)
{
	double raise = 1;

	for (uint32_t i = PPM / late_ppm; i > 1 && raise < SPREADS_MOST; i--)
		raise /= 1 - STEP;
	return raise;
}

static double price_limit(const struct estimator *est, int64_t length)
{
	return est->asked || est->budget > 0 ? PRICE_ANY :
	       within(length, PRICE_LIMIT_LEAST, PRICE_LIMIT_MOST);
}

static double price_of(const struct estimator *est, const struct regime *reg, int64_t length)
{
	/* who only says how much may be polled wants it used */
	if (est->budget > 0 && !est->asked)
		return PRICE_ANY;
	return within(reg->spread * PPM / reg->late_ppm, 0, price_limit(est, length));
}

/* ---- the margin ------------------------------------------------------------------------- */

/* What it costs to choose a margin, and what keeps it from being greater. */
struct choice {
	double cost;
	int64_t margin;
	enum clockfix_limit limit;
};

/* How far above all values, if there they go on to thin out as they do below. */
static double beyond(double spread, double each)
{
	double more = 0;

	for (double left = each / spread; left > 2; left /= 2)
		more += LOG_2 * spread;
	return more;
}

/*
 * A new value exceeds the k-th greatest of n with probability k / (n + 1), whatever the
 * distribution. Of all k the one that costs least, in values of at most @most and within the
 * budget; below the values there is only a margin of 0, with which all are late. Where more than
 * an eighth would be late, each more costs as much as one ever may.
 */
static struct choice cheapest(const struct estimator *est, const struct regime *reg,
			      int64_t length, int64_t most)
{
	const struct window *win = &reg->window;
	uint32_t n = win->count;
	double price = price_of(est, reg, length), each = price / (n + 1), sum = 0;
	double room = n * (est->budget * length - est->sleep_cost), spread = 0, more = 0;
	double many = price_limit(est, length) / (n + 1);
	struct choice best = { price + n * many, 0, CLOCKFIX_LIMIT_SLEEPING };
	bool bound = false;

	if (n >= WINDOW_LEAST) {
		spread = within(spread_seen(reg), 1, SPREAD_MOST);
		more = beyond(spread, each);
	}
	for (uint32_t i = 0; est->budget > 0 && i < n; i++)
		sum += win->sorted[i];
	for (uint32_t k = !more; k <= n; k++) {
		/* all of rank @k and above are late; @sum is of the others */
		double value = k ? win->sorted[n - k] : win->sorted[n - 1] + more;
		double late = k ? k * each : spread;

		if (k > n / 8)
			late += (k - n / 8) * many;
		if (late >= best.cost)
			break;
		if (k)
			sum -= value;
		if (value > most)
			continue;
		if (est->budget > 0 && value * (n - k) - sum > room)
			bound = true;
		else if (value + late < best.cost)
			best = (struct choice){
				value + late, value,
				bound ? CLOCKFIX_LIMIT_BUDGET : CLOCKFIX_LIMIT_PRICE,
			};
	}
	return best;
}

static unsigned int class_of(int64_t length)
{
	/* up to 32 us, 128 us, 512 us, 2 ms, 8 ms, and above */
	unsigned int class = 0;

	for (int64_t limit = 31250; class < CLASSES - 1 && length >= limit; limit *= 4)
		class++;
	return class;
}

/* A class of which nothing is known yet takes the nearest one that is known. */
static struct regime *regime_known(struct estimator *est, int64_t length)
{
	unsigned int class = class_of(length);

	for (unsigned int d = 0; d < CLASSES; d++) {
		if (class >= d && est->regime[class - d].window.count)
			return &est->regime[class - d];
		if (class + d < CLASSES && est->regime[class + d].window.count)
			return &est->regime[class + d];
	}
	return &est->regime[class];
}

/*
 * Not to sleep costs the whole length. But nothing is learned without a sleep: what the aim lets
 * be late is spent on trials. Those that end in time cost nothing, so then each job is one.
 */
static int64_t declined(struct estimator *est, int64_t length, int64_t most)
{
	struct regime *reg = &est->regime[class_of(length)];
	double share = (double)reg->late_ppm / PPM;

	reg->credit += share > TRIAL_LEAST ? share : TRIAL_LEAST;
	if (reg->credit < 1)
		return most < INT64_MAX ? most + 1 : most;
	reg->credit = 1;
	est->trial = true;
	est->trials++;
	return most;
}

/* ---- interface -------------------------------------------------------------------------- */

void estimator_init(struct estimator *est, const struct clockfix_options *options)
{
	uint32_t late_ppm = options->late_ppm;

	memset(est, 0, sizeof(*est));
	est->paper.kind = options->estimator;
	est->asked = late_ppm > 0;
	est->budget = (double)options->cpu_ppm / PPM;
	for (unsigned int i = 0; i < CLASSES; i++) {
		struct regime *reg = &est->regime[i];

		reg->late_ppm = late_ppm ? late_ppm :
				i == CLASSES - 1 ? LATE_PPM_8MS :
				i == CLASSES - 2 ? LATE_PPM_2MS : LATE_PPM;
		reg->raise = raise_for(reg->late_ppm);
		reg->spread = SPREAD_FIRST;
		reg->stale = true;
	}
}

uint32_t estimator_aim(const struct estimator *est, int64_t length)
{
	return est->regime[class_of(length)].late_ppm;
}

int64_t estimator_predict(struct estimator *est, int64_t length, int64_t most)
{
	struct regime *reg = regime_known(est, length);
	struct choice choice;
	bool bound;

	if (est->paper.kind) {
		est->prediction = est->paper.prediction;
		if (est->prediction > most)
			filter_decay(&est->paper);
		return est->prediction;
	}
	est->trial = false;
	if (reg->stale) {
		choice = cheapest(est, reg, length, INT32_MAX);
		reg->margin = choice.margin;
		reg->cost = choice.cost;
		reg->limit = choice.limit;
		reg->stale = false;
	}
	est->prediction = reg->margin;
	est->limit = reg->limit;
	bound = est->budget > 0 && est->budget < 1;
	if (est->prediction <= most &&
	    (bound || reg->cost < length || reg->window.count < WINDOW_LEAST))
		return est->prediction;
	/* it does not fit, or it is no use: the best of what fits, or no sleep at all */
	choice = cheapest(est, reg, length, most);
	est->limit = choice.limit;
	if (bound || choice.cost < length)
		est->prediction = choice.margin;
	else
		est->prediction = declined(est, length, most);
	return est->prediction;
}

void estimator_learn(struct estimator *est, int64_t oversleep, int64_t length)
{
	struct regime *reg = &est->regime[class_of(length)];
	int32_t value = oversleep > INT32_MAX ? INT32_MAX : oversleep < 0 ? 0 : oversleep;
	bool late = value > est->prediction;

	if (est->paper.kind) {
		filter_learn(&est->paper, value);
		return;
	}
	adapt_spread(reg, est->trial, late);
	if (est->trial && late)
		reg->credit = 0;
	reg->stale = true;
	window_add(&reg->window, value);
}
