/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bottleneck's rate, measured as BBR does: N. Cardwell et al., "BBR:
 * Congestion-Based Congestion Control", ACM Queue 14(5), 2016. The rate is the
 * greatest at which packets were lately delivered. To see whether there is more to
 * be had, one round in eight is sent faster by a quarter; in the next the queue that
 * this may have made is drained.
 *
 * All packets have the same size, so a rate is kept as its inverse, the interval
 * between two packets. Pure computation.
 */
#ifndef LAB_AOI_RATE_H
#define LAB_AOI_RATE_H

#include <stdbool.h>
#include <stdint.h>

#define RATE_SAMPLE	4	/* deliveries that a sample of the rate spans at least */
#define RATE_SAMPLE_MOST 256
#define RATE_ROUNDS	10	/* a sample counts for so many rounds */

struct delivery {
	uint32_t seq;
	int64_t sent;
	int64_t received;
};

struct rate {
	enum { RATE_STARTUP, RATE_DRAIN, RATE_PROBE } state;
	struct delivery last[RATE_SAMPLE_MOST];	/* ring */
	uint64_t deliveries;
	int64_t best[RATE_ROUNDS];	/* least interval of each round */
	int64_t bottleneck;		/* least of those: ns per packet */
	int64_t min_rtt;
	uint32_t round, round_end;	/* a round ends when this packet is acknowledged */
	unsigned int phase;		/* PROBE: of the cycle of gains */
	int drain_rounds;
	uint32_t next_seq;		/* to be sent */
	uint32_t acked;			/* all before it are delivered or lost */
	int64_t plateau;		/* STARTUP: rate that was not much exceeded */
	int plateau_rounds;
};

/* rate_init() - nothing is known but that @interval is slow enough */
void rate_init(struct rate *rate, int64_t interval);

/* rate_sent() - packet @seq has been sent */
void rate_sent(struct rate *rate, uint32_t seq);

/*
 * rate_acked() - packet @seq, sent at @sent, was received at @received (of any clock,
 * always the same), and the sender heard of it after @rtt
 */
void rate_acked(struct rate *rate, uint32_t seq, int64_t sent, int64_t received, int64_t rtt);

/* rate_interval() - how long after a packet the next one is to be sent */
int64_t rate_interval(const struct rate *rate);

/* rate_may_send() - whether another packet may be under way */
bool rate_may_send(const struct rate *rate);

#endif
