// SPDX-License-Identifier: LGPL-2.1-or-later
/* estimator.c - how long before an instant to end a sleep */
#include <string.h>

#include "estimator.h"

#define MEMORY		100	/* sleeps, or as many as make 2 late: in these the past fades by half */
#define LONGEST		600	/* but not in more than so many */
#define FIRST		32	/* sleeps from which on late ones tell anything */
#define SPREAD_FIRST	20000	/* ns: until it is known */
#define SPREAD_LEAST	400
#define SPREAD_MOST	1e6
#define STEP		0.0005	/* by which a punctual sleep lowers the price */
#define GAIN		2	/* at most, or one in that many: no event is remembered for long */
#define TRIALS		128	/* one for each so many sleeps declined, at least */
/* ns of polling that one punctual sleep may cost by default: its length, but within these */
#define WORTH_LEAST	1e6
#define WORTH_MOST	5e6
#define WORTH_ANY	1e9	/* and where the program says how many may be late */
#define LOG_8		2.079

static double within(double value, double least, double most)
{
	return value < least ? least : value > most ? most : value;
}

static unsigned int class_of(int64_t length)
{
	unsigned int class = 0;

	for (int64_t limit = 31250; class < CLASSES - 1 && length >= limit; limit *= 4)
		class++;
	return class;
}

/* The first one is of all below 528 ns, the last one of all from 2 s on. */
static unsigned int bucket_of(int64_t ns)
{
	unsigned int octave, bucket;

	if (ns < 512)
		return 0;
	octave = 54 - __builtin_clzll(ns);
	bucket = octave * PARTS + (ns >> (octave + 5)) % PARTS;
	return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

static int64_t top_of(unsigned int bucket)
{
	return (((int64_t)PARTS + bucket % PARTS + 1) << (5 + bucket / PARTS)) - 1;
}

/* How slowly the values thin out, from eight times the share that may be late to that share. */
static double spread_of(const struct regime *reg)
{
	double share = within(reg->aim * reg->total, 2, reg->total / 8), left = 0;
	unsigned int bucket = BUCKETS, high = 0;

	if (reg->total < FIRST)
		return SPREAD_FIRST;
	while (left < 8 * share && bucket) {
		left += reg->weight[--bucket];
		if (!high && left >= share)
			high = bucket;
	}
	return within((top_of(high) - top_of(bucket)) / LOG_8, SPREAD_LEAST, SPREAD_MOST);
}

/*
 * Of values that thin out exponentially the wanted share is late if the price is their spread divided
 * by that share. Who only says how much may be polled wants it used: each late one costs anything.
 */
static double price_of(const struct estimator *est, const struct regime *reg, double worth)
{
	if (est->budget > 0 && !est->asked)
		return worth;
	return within(reg->gain * spread_of(reg) / reg->aim, 0, worth);
}

/*
 * The cheapest margin up to @most becomes the prediction; returns what it costs a sleep. One value is
 * still to come, which may be above all. Where more than an eighth is late each more costs as much
 * as one ever may.
 */
static double cheapest(struct estimator *est, const struct regime *reg, int64_t length, int64_t most)
{
	double worth = est->asked || est->budget > 0 ? WORTH_ANY :
		       within(length, WORTH_LEAST, WORTH_MOST);
	double n = reg->total + 1, price = price_of(est, reg, worth), least = n * (price + worth);
	double room = (est->budget * length - est->sleep_cost) * n, left = reg->total, sum = 0;

	est->prediction = 0;
	for (unsigned int i = 0; i < BUCKETS && top_of(i) <= most && left > 0.01; i++) {
		double value = top_of(i), cost;

		if (!reg->weight[i])
			continue;
		left -= reg->weight[i];
		sum += reg->weight[i] * value;
		if (est->budget > 0 && value * (reg->total - left) - sum > room)
			break;
		cost = value * (n - left) - sum + (left + 1) * price +
		       within(left - n / 8, 0, n) * worth;
		if (cost >= least)
			continue;
		least = cost;
		est->prediction = value;
	}
	return least / n;
}

/* A class of which nothing is known yet takes the nearest one that is known. */
static const struct regime *regime_known(const struct estimator *est, unsigned int class)
{
	for (unsigned int d = 0; d < CLASSES; d++) {
		if (class >= d && est->regime[class - d].total > 0)
			return &est->regime[class - d];
		if (class + d < CLASSES && est->regime[class + d].total > 0)
			return &est->regime[class + d];
	}
	return &est->regime[class];
}

void estimator_init(struct estimator *est, const struct clockfix_options *options)
{
	/* the longer the sleep the less polling costs */
	static const uint32_t standard[CLASSES] = { 15000, 15000, 15000, 15000, 5000, 1700 };

	memset(est, 0, sizeof(*est));
	est->paper.kind = options->estimator;
	est->asked = options->late_ppm > 0;
	est->budget = options->cpu_ppm / 1e6;
	for (int i = 0; i < CLASSES; i++) {
		est->regime[i].aim = (est->asked ? options->late_ppm : standard[i]) / 1e6;
		est->regime[i].gain = 1;
	}
}

int64_t estimator_predict(struct estimator *est, int64_t length, int64_t most)
{
	struct regime *own = &est->regime[class_of(length)];
	const struct regime *reg = regime_known(est, class_of(length));
	double cost;

	if (est->paper.kind) {
		est->prediction = est->paper.prediction;
		if (est->prediction > most)
			filter_decay(&est->paper);
		return est->prediction;
	}
	est->trial = false;
	cost = cheapest(est, reg, length, most);
	if (cost < length || (reg->total < FIRST && (est->prediction || !reg->total)) ||
	    (est->budget > 0 && est->budget < 1))
		return est->prediction;
	/* not to sleep is cheaper; but what the aim lets be late is spent on finding out */
	own->credit = within(own->credit + within(own->aim, 1. / TRIALS, 1), 0, 1);
	est->trial = own->credit >= 1;
	est->prediction = est->trial || most == INT64_MAX ? most : most + 1;
	return est->prediction;
}

void estimator_learn(struct estimator *est, int64_t oversleep, int64_t length)
{
	struct regime *reg = &est->regime[class_of(length)];
	bool late = oversleep > est->prediction;

	if (est->paper.kind) {
		filter_learn(&est->paper, oversleep);
		return;
	}
	/* trials that end in time cost nothing: then each job is one */
	if (est->trial && late)
		reg->credit = 0;
	if (!est->trial && reg->total >= FIRST)
		reg->gain *= late ? 1 + within(STEP / reg->aim, 0, 1) : 1 - STEP;
	reg->gain = within(reg->gain, 1. / GAIN, GAIN);
	reg->weight[bucket_of(oversleep)]++;
	if (++reg->total < 2 * within(2 / reg->aim, MEMORY, LONGEST))
		return;
	for (int i = 0; i < BUCKETS; i++)
		reg->weight[i] /= 2;
	reg->total /= 2;
}
