// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The receiver: an application that takes a sample whenever one is due.
 *
 * When the next packet will arrive follows from the arrival of the last and from the
 * interval that the sender announced in it, corrected by what arrivals lately differed
 * from that. The application is scheduled a little later, by twice the mean deviation:
 * too early, it would find nothing and have to be woken by the packet's interrupt; too
 * late, the sample ages in a buffer.
 */
#define _GNU_SOURCE
#include "aoi.h"
#include "clock.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define SMOOTHING	8	/* of bias and deviation */
#define GUARD		2	/* mean deviations */
#define GUARD_SHARE	4	/* at most this part of an interval */
#define QUIET		(100 * NSEC_PER_MSEC)	/* after the last packet */

struct receiver {
	struct run *run;
	struct iteration *iteration;
	const struct node *node;
	int fd;
	struct timing timing;
	uint32_t total;
	uint32_t next_seq;	/* all before it are accounted for */
	uint32_t lost;
	int64_t fastest;	/* least (arrival - sent), in node times */
	bool any;
	/* prediction of the next arrival */
	int64_t arrival, next_in, bias, deviation;
};

static void learn(struct receiver *r, int64_t arrival, uint32_t skipped)
{
	int64_t error;

	if (!r->any || skipped)
		return;
	error = arrival - (r->arrival + r->next_in) - r->bias;
	r->bias += error / SMOOTHING;
	r->deviation += ((error < 0 ? -error : error) - r->deviation) / SMOOTHING;
}

static int64_t expected(const struct receiver *r)
{
	return r->arrival + r->next_in + r->bias;
}

static int64_t guard(const struct receiver *r)
{
	int64_t most = r->next_in / GUARD_SHARE;

	return GUARD * r->deviation < most ? GUARD * r->deviation : most;
}

static enum status judge(struct receiver *r, const struct packet *packet, int64_t arrival)
{
	int64_t took = arrival - packet->sent;

	if (!r->any || took < r->fastest)
		r->fastest = took;
	return took - r->fastest > r->run->options.deadline ? STATUS_LATE : STATUS_DELIVERED;
}

static void acknowledge(struct receiver *r, uint32_t seq, int64_t received)
{
	struct ack ack = {
		.magic = ACK_MAGIC, .seq = seq, .received = received, .lost = r->lost,
	};

	/* a lost acknowledgement is made up for by the next */
	(void)!send(r->fd, &ack, sizeof(ack), MSG_DONTWAIT);
}

static void deliver(struct receiver *r, const struct packet *packet, int64_t arrival)
{
	struct record *record = &r->iteration->records[packet->seq];
	int64_t received = clock_ns();
	uint32_t skipped;

	record->arrival = arrival;
	record->received = received;
	if (packet->seq < r->next_seq) {
		/* the application was told that it is lost before it came */
		record->status = STATUS_LATE;
	} else {
		skipped = packet->seq - r->next_seq;
		r->lost += skipped;
		r->next_seq = packet->seq + 1;
		record->status = judge(r, packet, arrival);
		learn(r, arrival, skipped);
	}
	r->any = true;
	r->arrival = arrival;
	r->next_in = packet->next_in;
	acknowledge(r, packet->seq, received);
}

static int take_packets(struct receiver *r)
{
	char buffer[2048];
	const struct packet *packet = (const struct packet *)buffer;
	int64_t arrival;
	ssize_t n;
	int taken = 0;

	while ((n = network_receive(r->fd, buffer, sizeof(buffer), &arrival)) > 0) {
		if (n < (ssize_t)sizeof(*packet) || packet->magic != PACKET_MAGIC ||
		    packet->seq >= r->total)
			continue;
		deliver(r, packet, arrival);
		taken++;
	}
	return taken;
}

static bool finished(struct receiver *r, int64_t last)
{
	return r->next_seq == r->total ||
	       (atomic_load(&r->iteration->sent) && clock_ns() > last + QUIET);
}

/* Nothing has come at its time: wait for the packet itself, until its deadline. */
static void wait_for_packet(struct receiver *r)
{
	int64_t until = (r->any ? expected(r) + r->run->options.deadline : clock_ns() + QUIET);
	struct pollfd fd = { .fd = r->fd, .events = POLLIN };
	struct timespec left;

	if (until < clock_ns())
		until = clock_ns();
	left = to_timespec(until - clock_ns() > 0 ? until - clock_ns() : 0);
	if (ppoll(&fd, 1, &left, NULL) > 0 || !r->any || r->next_seq >= r->total)
		return;
	/* tell the application that the packet it waits for is lost */
	r->lost++;
	r->next_seq++;
	r->arrival += r->next_in;
}

static void receive_all(struct receiver *r)
{
	int64_t last = clock_ns();

	while (!finished(r, last)) {
		if (r->any)
			timing_wait(&r->timing, expected(r) + guard(r));
		if (take_packets(r))
			last = clock_ns();
		else
			wait_for_packet(r);
		if (r->any && take_packets(r))
			last = clock_ns();
	}
}

int receiver_run(struct run *run, struct iteration *iteration)
{
	const struct node *node = &run->nodes[1];
	struct receiver r = { .run = run, .iteration = iteration, .node = node,
			      .total = run->options.warmup + run->options.packets };
	int ret;

	ret = process_prepare(run, node);
	if (!ret)
		ret = timing_open(&r.timing, iteration->timing);
	if (!ret) {
		r.fd = network_socket(node, &run->nodes[0]);
		ret = r.fd < 0 ? r.fd : 0;
	}
	if (ret) {
		fprintf(stderr, "age_of_information: receiver: %s\n", strerror(-ret));
		return 1;
	}
	iteration->cpu_receiver = -process_cpu_time();
	flag_set(&iteration->ready, 1);
	receive_all(&r);
	iteration->cpu_receiver += process_cpu_time();
	timing_close(&r.timing);
	return 0;
}
