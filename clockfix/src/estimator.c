// SPDX-License-Identifier: LGPL-2.1-or-later
/* estimator.c - predict the next oversleep from those seen */
#include <string.h>

#include "estimator.h"

#define DEFAULT_WINDOW_PAPER	64
#define DEFAULT_WINDOW_RANK	512
#define DEFAULT_LATE_PPM	15000
#define PPM			1000000
#define PRICE_OF_LATE		4000000LL	/* ns of polling that a punctual job is worth */
#define PATIENCE		8
#define PATIENCE_MAX		65536

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
	uint32_t at, old;

	if (win->count < win->size) {
		at = window_below(win, value);
		memmove(&win->sorted[at + 1], &win->sorted[at],
			(win->count - at) * sizeof(*win->sorted));
		win->sorted[at] = value;
		win->ring[(win->oldest + win->count++) % win->size] = value;
		return;
	}
	old = window_below(win, win->ring[win->oldest]);
	at = window_below(win, value);
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
	win->oldest = (win->oldest + 1) % win->size;
}

/* Forget all but the last @keep values. */
static void window_shrink(struct window *win, uint32_t keep)
{
	int32_t last[RECENT];

	for (uint32_t i = 0; i < keep; i++)
		last[i] = win->ring[(win->oldest + win->count - keep + i) % win->size];
	win->count = 0;
	win->oldest = 0;
	for (uint32_t i = 0; i < keep; i++)
		window_add(win, last[i]);
}

static void window_decay(struct window *win)
{
	for (uint32_t i = 0; i < win->count; i++) {
		win->ring[(win->oldest + i) % win->size] -=
			win->ring[(win->oldest + i) % win->size] / 4;
		win->sorted[i] -= win->sorted[i] / 4;
	}
}

/*
 * A new value exceeds the k-th greatest of n with probability k / (n + 1), whatever the
 * distribution. While there are too few values for the share that is wanted, the greatest.
 *
 * But not at any price: a value further down is taken if the polling it saves outweighs the
 * sleeps it makes late. So the few outliers that a short window has at its top don't count.
 */
static int64_t window_rank(const struct window *win, uint32_t late_ppm)
{
	uint32_t n = win->count, k;
	int64_t best = INT64_MAX, prediction = 0;

	if (!n)
		return 0;
	k = ((uint64_t)(n + 1) * late_ppm + PPM / 2) / PPM;
	if (!k)
		k = 1;
	for (uint32_t most = k > n / 8 ? k : n / 8; k <= most; k++) {
		int64_t value = win->sorted[n - k], price = value + k * PRICE_OF_LATE / (n + 1);

		if (price < best) {
			best = price;
			prediction = value;
		}
	}
	return prediction;
}

/* ---- change of regime ------------------------------------------------------------------- */

static unsigned int class_of(int64_t length)
{
	/* up to 32 us, 128 us, 512 us, 2 ms, 8 ms, and above */
	unsigned int class = 0;

	for (int64_t limit = 32768; class < CLASSES - 1 && length >= limit; limit *= 4)
		class++;
	return class;
}

/*
 * If what has come lately does not fit what came before, what came before is of no use: four of
 * the last eight above what one in 64 exceeded, or the last sixteen all in the lower quarter of
 * those seen. By chance, among independent values, the one happens once in 250,000 sleeps, the
 * other once in four billion. Returns how many of the last values to keep, 0: all.
 */
static uint32_t regime_changed(struct regime *reg, int32_t value)
{
	const struct window *win = &reg->window;
	uint32_t n = win->count;

	reg->above = reg->above << 1 | (n && value > win->sorted[n - 1 - n / 64]);
	reg->below = reg->below << 1 | (n && value < win->sorted[n / 4]);
	if (win->count <= 2 * RECENT)
		return 0;
	if (__builtin_popcount(reg->above & 0xff) >= 4)
		return RECENT / 2;
	return (reg->below & 0xffff) == 0xffff ? RECENT : 0;
}

/*
 * A sleep after decay was a trial. If it was as late as ever, the next trial can wait twice as
 * long: a trial that fails is a job that is late. If not, the values in the window are history.
 */
static void regime_judge_trial(struct estimator *est, struct regime *reg, int32_t value)
{
	if (value > reg->prediction) {
		if (reg->patience < PATIENCE_MAX)
			reg->patience *= 2;
		return;
	}
	window_shrink(&reg->window, 1);
	reg->patience = PATIENCE;
	est->changes++;
}

static void regime_learn(struct estimator *est, struct regime *reg, int32_t value)
{
	bool trial = reg->prediction < reg->ranked;
	uint32_t keep = regime_changed(reg, value);

	window_add(&reg->window, value);
	if (trial) {
		regime_judge_trial(est, reg, value);
	} else if (keep) {
		window_shrink(&reg->window, keep);
		reg->above = 0;
		reg->below = 0;
		est->changes++;
	}
	reg->ranked = window_rank(&reg->window, est->late_ppm);
	reg->prediction = reg->ranked;
	reg->declined = 0;
}

/* A class of which nothing is known yet takes the nearest one that is known. */
static int64_t regime_predict(const struct estimator *est, int64_t length)
{
	unsigned int class = class_of(length);

	for (unsigned int d = 0; d < CLASSES; d++) {
		if (class >= d && est->regime[class - d].window.count)
			return est->regime[class - d].prediction;
		if (class + d < CLASSES && est->regime[class + d].window.count)
			return est->regime[class + d].prediction;
	}
	return 0;
}

static void regime_decay(struct estimator *est, int64_t length)
{
	struct regime *reg = &est->regime[class_of(length)];

	if (++reg->declined < reg->patience)
		return;
	reg->declined = 0;
	/* what another class has learned kept this one from sleeping: from now on it has its own */
	if (!reg->window.count) {
		reg->ranked = regime_predict(est, length);
		reg->prediction = reg->ranked;
		window_add(&reg->window, reg->ranked);
	}
	reg->prediction -= reg->prediction / 4;
	est->prediction = reg->prediction;
	est->decays++;
}

/* ---- single values ---------------------------------------------------------------------- */

/* Up by (1 - p) steps where exceeded, down by p steps where not: at rest at the quantile 1 - p. */
static void quantile_learn(struct estimator *est, int64_t value)
{
	int64_t error = value - est->prediction;
	int64_t distance = error < 0 ? -error : error;
	int64_t step;

	/* an outlier counts as eight times the usual */
	if (distance > 8 * est->deviation + 1000)
		distance = 8 * est->deviation + 1000;
	est->deviation += (distance - est->deviation) / 32;
	step = est->deviation + 16;
	if (error > 0)
		est->prediction += step * (PPM - est->late_ppm) / PPM;
	else
		est->prediction -= step * est->late_ppm / PPM;
	if (est->prediction < 0)
		est->prediction = 0;
	if (est->prediction > INT32_MAX)
		est->prediction = INT32_MAX;
}

static void decaying_max_learn(struct estimator *est, int64_t value)
{
	if (value > est->prediction)
		est->prediction = value;
	else
		est->prediction -= (est->prediction - value) / 16;
}

/* ---- interface -------------------------------------------------------------------------- */

void estimator_init(struct estimator *est, const struct clockfix_options *options)
{
	uint32_t size = options->window;

	memset(est, 0, sizeof(*est));
	est->kind = options->estimator;
	if (est->kind == CLOCKFIX_ESTIMATOR_DEFAULT)
		est->kind = CLOCKFIX_ESTIMATOR_REGIME;
	est->late_ppm = options->late_ppm ? options->late_ppm : DEFAULT_LATE_PPM;

	if (!size)
		size = est->kind == CLOCKFIX_ESTIMATOR_MAX ||
		       est->kind == CLOCKFIX_ESTIMATOR_AVERAGE ?
		       DEFAULT_WINDOW_PAPER : DEFAULT_WINDOW_RANK;
	if (est->kind == CLOCKFIX_ESTIMATOR_REGIME) {
		for (unsigned int i = 0; i < CLASSES; i++) {
			est->regime[i].window.size = size < 3 * RECENT ? 3 * RECENT : size;
			est->regime[i].patience = PATIENCE;
		}
	} else {
		est->window.size = size;
	}
	if (est->kind == CLOCKFIX_ESTIMATOR_FIXED)
		est->prediction = options->fixed_margin;
}

int64_t estimator_predict(const struct estimator *est, int64_t length)
{
	if (est->kind == CLOCKFIX_ESTIMATOR_REGIME)
		return regime_predict(est, length);
	return est->prediction;
}

void estimator_learn(struct estimator *est, int64_t oversleep, int64_t length)
{
	struct window *win = &est->window;
	int32_t value = oversleep > INT32_MAX ? INT32_MAX : oversleep < 0 ? 0 : oversleep;

	switch (est->kind) {
	case CLOCKFIX_ESTIMATOR_MAX:
		window_add(win, value);
		est->prediction = win->sorted[win->count - 1];
		break;
	case CLOCKFIX_ESTIMATOR_AVERAGE:
		if (win->count == win->size)
			est->sum -= win->ring[win->oldest];
		est->sum += value;
		window_add(win, value);
		est->prediction = est->sum / win->count;
		break;
	case CLOCKFIX_ESTIMATOR_RANK:
		window_add(win, value);
		est->prediction = window_rank(win, est->late_ppm);
		break;
	case CLOCKFIX_ESTIMATOR_REGIME:
		regime_learn(est, &est->regime[class_of(length)], value);
		est->prediction = est->regime[class_of(length)].prediction;
		break;
	case CLOCKFIX_ESTIMATOR_QUANTILE:
		quantile_learn(est, value);
		break;
	case CLOCKFIX_ESTIMATOR_DECAYING_MAX:
		decaying_max_learn(est, value);
		break;
	default:
		break;
	}
}

void estimator_decay(struct estimator *est, int64_t length)
{
	struct window *win = &est->window;

	switch (est->kind) {
	case CLOCKFIX_ESTIMATOR_MAX:
		/* the paper's rule, whatever the reason that there was no sleep */
		window_decay(win);
		est->prediction -= est->prediction / 4;
		break;
	case CLOCKFIX_ESTIMATOR_AVERAGE:
		window_decay(win);
		est->sum = 0;
		for (uint32_t i = 0; i < win->count; i++)
			est->sum += win->sorted[i];
		est->prediction = win->count ? est->sum / win->count : 0;
		break;
	case CLOCKFIX_ESTIMATOR_RANK:
	case CLOCKFIX_ESTIMATOR_QUANTILE:
	case CLOCKFIX_ESTIMATOR_DECAYING_MAX:
		/* no time to sleep anyway: nothing is to be learned from that */
		if (length <= 0)
			return;
		if (est->kind == CLOCKFIX_ESTIMATOR_RANK)
			window_decay(win);
		est->prediction -= est->prediction / 4;
		break;
	case CLOCKFIX_ESTIMATOR_REGIME:
		if (length > 0)
			regime_decay(est, length);
		return;
	default:
		return;
	}
	est->decays++;
}
