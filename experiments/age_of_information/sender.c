// SPDX-License-Identifier: GPL-2.0-or-later
/* The sender: a sample at a time, paced by the bottleneck's rate. */
#define _GNU_SOURCE
#include "aoi.h"
#include "clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define FIRST_INTERVAL	NSEC_PER_MSEC
#define PATIENCE	(200 * NSEC_PER_MSEC)	/* for an acknowledgement */
#define WINDOW_MISSED	8			/* intervals that may be made up for */

struct sender {
	struct run *run;
	struct iteration *iteration;
	const struct node *node;
	int fd;
	struct timing timing;
	struct rate rate;
	int64_t *sent;		/* by sequence number */
	uint32_t total;
	char *datagram;
};

static void take_acks(struct sender *s)
{
	struct ack ack;
	int64_t arrival;

	while (network_receive(s->fd, &ack, sizeof(ack), &arrival) == sizeof(ack)) {
		if (ack.magic != ACK_MAGIC || ack.seq >= s->rate.next_seq)
			continue;
		rate_acked(&s->rate, ack.seq, s->sent[ack.seq], ack.received,
			   arrival - s->sent[ack.seq]);
		s->iteration->reported_lost = ack.lost;
	}
}

/* Wait until another packet may be under way; false: nothing has come back for too long. */
static bool wait_for_window(struct sender *s)
{
	while (!rate_may_send(&s->rate)) {
		struct pollfd fd = { .fd = s->fd, .events = POLLIN };

		if (!poll(&fd, 1, PATIENCE / NSEC_PER_MSEC))
			return false;
		take_acks(s);
	}
	return true;
}

static int send_one(struct sender *s, uint32_t seq, int64_t due, int64_t interval)
{
	struct packet *packet = (struct packet *)s->datagram;
	int64_t now = clock_ns();

	*packet = (struct packet){
		.magic = PACKET_MAGIC, .seq = seq, .next_in = interval,
		.sent = now,
	};
	if (send(s->fd, s->datagram, s->run->options.payload, 0) < 0 && errno != ENOBUFS &&
	    errno != ECONNREFUSED)
		return -errno;
	s->sent[seq] = now;
	rate_sent(&s->rate, seq);
	s->iteration->records[seq].due = due;
	s->iteration->records[seq].sent = packet->sent;
	return 0;
}

static int send_all(struct sender *s)
{
	int64_t due = clock_ns() + NSEC_PER_MSEC;

	for (uint32_t seq = 0; seq < s->total; seq++) {
		int64_t interval = rate_interval(&s->rate);
		int ret;

		if (!wait_for_window(s)) {
			/* all that is under way is lost: begin anew, carefully */
			s->rate.acked = s->rate.next_seq;
			due = clock_ns() + FIRST_INTERVAL;
		}
		timing_wait(&s->timing, due);
		ret = send_one(s, seq, due, interval);
		if (ret)
			return ret;
		take_acks(s);
		due = s->sent[seq] + interval;
		/* what can't be made up for is not sent in one burst */
		if (due < clock_ns() - WINDOW_MISSED * interval)
			due = clock_ns();
	}
	return 0;
}

int sender_run(struct run *run, struct iteration *iteration)
{
	const struct node *node = &run->nodes[0];
	struct sender s = { .run = run, .iteration = iteration, .node = node,
			    .total = run->options.warmup + run->options.packets };
	int64_t start;
	int ret;

	ret = process_prepare(run, node);
	if (ret)
		goto out;
	ret = timing_open(&s.timing, iteration->timing);
	if (ret)
		goto out;
	s.fd = network_socket(node, &run->nodes[1]);
	s.sent = calloc(s.total, sizeof(*s.sent));
	s.datagram = calloc(1, run->options.payload);
	ret = s.fd < 0 ? s.fd : s.sent && s.datagram ? 0 : -ENOMEM;
	if (!ret)
		ret = flag_wait(&iteration->ready, 10 * NSEC_PER_SEC);
	if (ret)
		goto out;
	rate_init(&s.rate, FIRST_INTERVAL);
	start = clock_ns();
	iteration->cpu_sender = -process_cpu_time();
	ret = send_all(&s);
	iteration->cpu_sender += process_cpu_time();
	iteration->elapsed = clock_ns() - start;
	iteration->bottleneck = s.rate.bottleneck;
	iteration->min_rtt = s.rate.min_rtt;
	flag_set(&iteration->sent, s.total);
out:
	timing_close(&s.timing);
	free(s.sent);
	free(s.datagram);
	if (ret)
		fprintf(stderr, "age_of_information: sender: %s\n", strerror(-ret));
	return ret ? 1 : 0;
}
