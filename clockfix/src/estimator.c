// SPDX-License-Identifier: LGPL-2.1-or-later
/* estimator.c - predict the next oversleep from those seen */
#include <string.h>

#include "estimator.h"

#define DEFAULT_WINDOW_PAPER	64
#define DEFAULT_WINDOW_RANK	512
#define DEFAULT_LATE_PPM	15000
#define DEFAULT_LATE_PPM_LONG	5000	/* REGIME: where polling is a small share of the time */
#define CLASS_LONG		4	/* from 2 ms on */
#define PPM			1000000
#define PATIENCE		8
#define PATIENCE_MAX		65536
#define WINDOW_LEAST		32	/* REGIME */
#define PRICE_UNIT		1024
#define SPREAD			20000LL	/* ns: a usual one, that the price begins with */
#define SPREAD_LEAST		400LL
#define SPREAD_MOST		1000000LL
#define PRICE_MOST		1000000000LL
#define ROUGH_SHARE		(65536 / 8)

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
 * distribution. Of the ranks from @k on, to an eighth of all, the one that costs least: its
 * value in polling, and @price for each sleep that it makes late.
 */
static int64_t window_cheapest(const struct window *win, uint32_t k, int64_t price)
{
	int64_t best = INT64_MAX, value = 0, each;
	uint32_t n = win->count;

	if (!n)
		return 0;
	each = price / (n + 1);
	for (uint32_t most = k > n / 8 ? k : n / 8; k <= most; k++) {
		int64_t cost = win->sorted[n - k] + k * each;

		if (cost < best) {
			best = cost;
			value = win->sorted[n - k];
		}
	}
	return value;
}

/* ---- circumstances ---------------------------------------------------------------------- */

static unsigned int class_of(int64_t length)
{
	/* up to 32 us, 128 us, 512 us, 2 ms, 8 ms, and above */
	unsigned int class = 0;

	for (int64_t limit = 32768; class < CLASSES - 1 && length >= limit; limit *= 4)
		class++;
	return class;
}

static unsigned int phase_of(const struct estimator *est, int64_t time)
{
	return est->tick && time > 0 ? time % est->tick * PHASES / est->tick : 0;
}

/*
 * A sleep that ends while the kernel's tick is dealt with ends later. So may others, if what
 * another machine or CPU does with the same period comes in between. Which phases are rough is
 * learned: those in which an eighth exceeds what a thirty-second exceeds altogether.
 */
static void learn_phase(struct estimator *est, const struct window *calm, int32_t value)
{
	unsigned int phase = phase_of(est, est->until);
	bool high;

	if (!est->tick || calm->count < WINDOW_LEAST)
		return;
	high = value > calm->sorted[calm->count - 1 - calm->count / 32];
	est->rough[phase] += ((high ? UINT16_MAX : 0) - est->rough[phase]) / 16;
	/* one that is kept clear of is forgotten, slowly, so that it is tried again */
	if (est->mood == ROUGH && est->asked != phase)
		est->rough[est->asked] -= est->rough[est->asked] / 64;
}

/* ---- regime ----------------------------------------------------------------------------- */

static int64_t within(int64_t value, int64_t least, int64_t most)
{
	return value < least ? least : value > most ? most : value;
}

/* For values that thin out exponentially the price is their spread divided by the share. */
static int64_t price_of(const struct regime *reg, int64_t spread)
{
	return within(spread * PPM / reg->late_ppm, 0, PRICE_MOST) * PRICE_UNIT;
}

static void regime_init(struct regime *reg, uint32_t size, uint32_t late_ppm)
{
	reg->late_ppm = late_ppm;
	for (unsigned int mood = 0; mood < MOODS; mood++)
		reg->window[mood].size = size < WINDOW_LEAST ? WINDOW_LEAST : size;
	reg->price = price_of(reg, SPREAD);
	reg->patience = PATIENCE;
	reg->stale = true;
}

static int64_t regime_prediction(struct regime *reg, unsigned int mood)
{
	if (reg->stale) {
		for (unsigned int m = 0; m < MOODS; m++) {
			/* of rough phases too little may be known */
			unsigned int of = reg->window[m].count < WINDOW_LEAST ? CALM : m;

			reg->margin[m] = window_cheapest(&reg->window[of], 1,
							 reg->price / PRICE_UNIT);
		}
		reg->stale = false;
	}
	return within(reg->margin[mood] - reg->cut, 0, INT32_MAX);
}

/*
 * The price that makes the wanted share late is found by raising it after each sleep that was
 * late, and lowering it after the others.
 */
static void regime_learn_price(struct regime *reg, bool late)
{
	int64_t step = reg->price / 20;

	if (reg->window[CALM].count < WINDOW_LEAST)
		return;
	if (late)
		reg->price += step * (PPM - (int64_t)reg->late_ppm) / PPM;
	else
		reg->price -= step * (int64_t)reg->late_ppm / PPM;
	reg->price = within(reg->price, price_of(reg, SPREAD_LEAST), price_of(reg, SPREAD_MOST));
}

/*
 * A sleep after decay was a trial. If it was as late as ever, the next trial can wait twice as
 * long: a trial that fails is a job that is late. If not, decay was right.
 */
static void regime_judge_trial(struct estimator *est, struct regime *reg, bool late)
{
	if (late) {
		if (reg->patience < PATIENCE_MAX)
			reg->patience *= 2;
		return;
	}
	for (unsigned int mood = 0; mood < MOODS; mood++)
		window_decay(&reg->window[mood]);
	reg->patience = PATIENCE;
	est->changes++;
}

static void regime_learn(struct estimator *est, struct regime *reg, int32_t value)
{
	bool late = value > regime_prediction(reg, est->mood);

	if (reg->cut)
		regime_judge_trial(est, reg, late);
	else
		regime_learn_price(reg, late);
	reg->cut = 0;
	reg->declined = 0;
	reg->stale = true;
	learn_phase(est, &reg->window[CALM], value);
	if (est->mood == ROUGH)
		window_add(&reg->window[ROUGH], value);
	if (est->mood == CALM || reg->window[ROUGH].count < WINDOW_LEAST)
		window_add(&reg->window[CALM], value);
}

/* A class of which nothing is known yet takes the nearest one that is known. */
static struct regime *regime_known(struct estimator *est, int64_t length)
{
	unsigned int class = class_of(length);

	for (unsigned int d = 0; d < CLASSES; d++) {
		if (class >= d && est->regime[class - d].window[CALM].count)
			return &est->regime[class - d];
		if (class + d < CLASSES && est->regime[class + d].window[CALM].count)
			return &est->regime[class + d];
	}
	return &est->regime[class];
}

static int64_t regime_predict(struct estimator *est, int64_t length, int64_t instant)
{
	struct regime *reg = regime_known(est, length);

	est->calm = regime_prediction(reg, CALM);
	est->asked = phase_of(est, instant - est->calm);
	est->mood = est->rough[est->asked] > ROUGH_SHARE ? ROUGH : CALM;
	return est->mood == CALM ? est->calm : regime_prediction(reg, ROUGH);
}

static void regime_decay(struct estimator *est, int64_t length)
{
	struct regime *reg = &est->regime[class_of(length)];

	/* a job that was in time */
	regime_learn_price(reg, false);
	reg->stale = true;
	if (++reg->declined < reg->patience)
		return;
	reg->declined = 0;
	/* what another class has learned kept this one from sleeping: from now on it has its own */
	if (!reg->window[CALM].count)
		window_add(&reg->window[CALM],
			   regime_prediction(regime_known(est, length), CALM));
	reg->cut += regime_prediction(reg, CALM) / 4;
	est->prediction = regime_prediction(reg, CALM);
	est->decays++;
}

/* ---- interface -------------------------------------------------------------------------- */

void estimator_init(struct estimator *est, const struct clockfix_options *options)
{
	memset(est, 0, sizeof(*est));
	est->kind = options->estimator;
	if (est->kind == CLOCKFIX_ESTIMATOR_DEFAULT) {
		for (unsigned int i = 0; i < CLASSES; i++)
			regime_init(&est->regime[i], DEFAULT_WINDOW_RANK,
				    (i < CLASS_LONG ? DEFAULT_LATE_PPM : DEFAULT_LATE_PPM_LONG) *
				    100 / (options->effort ? options->effort : 100));
	} else {
		est->window.size = options->window ? options->window : DEFAULT_WINDOW_PAPER;
	}
	if (est->kind == CLOCKFIX_ESTIMATOR_FIXED)
		est->prediction = options->fixed_margin;
}

int64_t estimator_predict(struct estimator *est, int64_t length, int64_t instant)
{
	if (est->kind == CLOCKFIX_ESTIMATOR_DEFAULT)
		est->prediction = regime_predict(est, length, instant);
	est->until = instant - est->prediction;
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
	case CLOCKFIX_ESTIMATOR_DEFAULT:
		regime_learn(est, &est->regime[class_of(length)], value);
		break;
	default:
		break;
	}
}

void estimator_decay(struct estimator *est, int64_t length)
{
	switch (est->kind) {
	case CLOCKFIX_ESTIMATOR_MAX:
		/* the paper's rule, whatever the reason that there was no sleep */
		window_decay(&est->window);
		est->prediction -= est->prediction / 4;
		break;
	case CLOCKFIX_ESTIMATOR_DEFAULT:
		if (length > 0)
			regime_decay(est, length);
		return;
	default:
		return;
	}
	est->decays++;
}
