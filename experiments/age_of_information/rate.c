// SPDX-License-Identifier: GPL-2.0-or-later
#include "rate.h"

#include <string.h>

/* Gains in percent of the bottleneck's rate. */
#define STARTUP_GAIN	289	/* 2/ln 2: doubles the rate each round */
#define DRAIN_GAIN	35
#define CRUISE_GAIN	99	/* as Linux's BBR: no queue out of rounding and noise */
#define WINDOW_GAIN	2	/* packets under way, in bandwidth-delay products */
#define WINDOW_LEAST	4
#define PLATEAU_ROUNDS	3
#define PLATEAU_GAIN	125

#define ROUND_LEAST	4	/* packets */
#define DRAIN_ROUNDS	4	/* at most: what is under way may be misjudged */

static const int probe_gains[] = {
	125, 75, CRUISE_GAIN, CRUISE_GAIN, CRUISE_GAIN, CRUISE_GAIN, CRUISE_GAIN, CRUISE_GAIN
};
#define PHASES (sizeof(probe_gains) / sizeof(*probe_gains))
#define PHASE_DRAIN 1

void rate_init(struct rate *rate, int64_t interval)
{
	memset(rate, 0, sizeof(*rate));
	rate->bottleneck = interval;
	rate->plateau = interval;
	rate->round_end = ROUND_LEAST;
}

static int64_t under_way(const struct rate *rate)
{
	return (int64_t)rate->next_seq - rate->acked;
}

static int64_t product(const struct rate *rate)
{
	return rate->min_rtt / rate->bottleneck + 1;
}

static void update_bottleneck(struct rate *rate)
{
	int64_t least = 0;

	for (int i = 0; i < RATE_ROUNDS; i++)
		if (rate->best[i] && (!least || rate->best[i] < least))
			least = rate->best[i];
	if (least)
		rate->bottleneck = least;
}

static void leave_startup(struct rate *rate)
{
	if (rate->bottleneck * PLATEAU_GAIN <= rate->plateau * 100) {
		rate->plateau = rate->bottleneck;
		rate->plateau_rounds = 0;
	} else if (++rate->plateau_rounds >= PLATEAU_ROUNDS) {
		rate->state = RATE_DRAIN;
	}
}

/* The queue that probing has made is drained for as long as it is there, as in BBR's version 2. */
static void end_phase(struct rate *rate)
{
	if (rate->phase == PHASE_DRAIN && under_way(rate) > product(rate) &&
	    ++rate->drain_rounds < DRAIN_ROUNDS)
		return;
	rate->drain_rounds = 0;
	rate->phase = (rate->phase + 1) % PHASES;
}

/* A round is a round trip, but ROUND_LEAST packets at least. */
static void end_round(struct rate *rate)
{
	if (rate->state == RATE_STARTUP)
		leave_startup(rate);
	else if (rate->state == RATE_PROBE)
		end_phase(rate);
	rate->round++;
	rate->best[rate->round % RATE_ROUNDS] = 0;
	rate->round_end = rate->next_seq;
	if (rate->round_end < rate->acked + ROUND_LEAST)
		rate->round_end = rate->acked + ROUND_LEAST;
	update_bottleneck(rate);
}

/*
 * A sample spans what is under way in a round trip, as BBR's do: a receiver that takes several
 * packets at once would seem faster than the link in a sample of fewer.
 */
static uint32_t sample_size(const struct rate *rate)
{
	int64_t size = product(rate);

	if (size < RATE_SAMPLE)
		return RATE_SAMPLE;
	return size < RATE_SAMPLE_MOST ? size : RATE_SAMPLE_MOST;
}

/*
 * Packets cannot have been delivered faster than they were sent: where it seems so they were
 * held up together. So the longer of the two times counts.
 */
static void sample(struct rate *rate, uint32_t size, const struct delivery *last)
{
	const struct delivery *first = &rate->last[(rate->deliveries - size) % RATE_SAMPLE_MOST];
	int64_t received = last->received - first->received;
	int64_t sent = last->sent - first->sent;
	int64_t interval = (received > sent ? received : sent) / size;
	int64_t *best = &rate->best[rate->round % RATE_ROUNDS];

	if (interval > 0 && (!*best || interval < *best))
		*best = interval;
}

void rate_sent(struct rate *rate, uint32_t seq)
{
	rate->next_seq = seq + 1;
}

void rate_acked(struct rate *rate, uint32_t seq, int64_t sent, int64_t received, int64_t rtt)
{
	struct delivery now = { seq, sent, received };
	uint32_t size;

	if (seq < rate->acked)
		return;
	rate->acked = seq + 1;
	if (!rate->min_rtt || rtt < rate->min_rtt)
		rate->min_rtt = rtt;
	size = sample_size(rate);
	if (rate->deliveries >= size)
		sample(rate, size, &now);
	rate->last[rate->deliveries % RATE_SAMPLE_MOST] = now;
	rate->deliveries++;
	update_bottleneck(rate);
	if (rate->acked >= rate->round_end)
		end_round(rate);
	if (rate->state == RATE_DRAIN && under_way(rate) <= product(rate))
		rate->state = RATE_PROBE;
}

int64_t rate_interval(const struct rate *rate)
{
	int gain = rate->state == RATE_STARTUP ? STARTUP_GAIN :
		   rate->state == RATE_DRAIN ? DRAIN_GAIN : probe_gains[rate->phase];

	return rate->bottleneck * 100 / gain;
}

bool rate_may_send(const struct rate *rate)
{
	int64_t window = WINDOW_GAIN * product(rate);

	if (rate->state == RATE_STARTUP)
		window = window * STARTUP_GAIN / 100;
	return under_way(rate) < (window > WINDOW_LEAST ? window : WINDOW_LEAST);
}
