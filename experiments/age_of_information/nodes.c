// SPDX-License-Identifier: GPL-2.0-or-later
/* What the two nodes do. */
#define _GNU_SOURCE
#include "aoi.h"
#include "clock.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAGIC 0x414f4931
#define PATIENCE (10 * NSEC_PER_SEC)	/* until the receiver listens */
#define QUIET_MS 100			/* after the last packet */

/* Both ends are the same machine. */
union packet {
	struct {
		uint32_t magic;
		uint32_t seq;
		int64_t sent;
	};
	char payload[PAYLOAD];
};

/* Between two packets, if the link is to be full */
static int64_t interval_of(const struct run *run)
{
	return FRAME * 8 * NSEC_PER_SEC / run->rate;
}

static int total_of(const struct run *run)
{
	return run->warmup + run->packets;
}

/* The next packet is due one interval after the last was sent: an oversleep is not made up for. */
static int send_all(struct run *run, struct iteration *iteration, struct timing *timing, int fd)
{
	int64_t due = clock_ns() + NSEC_PER_MSEC;

	for (int seq = 0; seq < total_of(run); seq++) {
		union packet packet = { .magic = MAGIC, .seq = seq };

		timing_wait(timing, due);
		packet.sent = clock_ns();
		if (send(fd, &packet, PAYLOAD, 0) < 0 && errno != ENOBUFS)
			return -errno;
		iteration->records[seq].due = due;
		iteration->records[seq].sent = packet.sent;
		due = packet.sent + interval_of(run);
	}
	return 0;
}

int sender_run(struct run *run, struct iteration *iteration)
{
	int64_t limit = clock_ns() + PATIENCE, start;
	struct timing timing;
	int fd, ret;

	ret = timing_open(&timing, iteration->timing);
	if (ret)
		return ret;
	fd = network_socket(&run->nodes[0], &run->nodes[1]);
	if (fd < 0) {
		ret = fd;
		goto close_timing;
	}
	while (!atomic_load(&iteration->ready) && clock_ns() < limit)
		usleep(1000);
	start = clock_ns();
	ret = atomic_load(&iteration->ready) ? send_all(run, iteration, &timing, fd) : -ETIMEDOUT;
	iteration->elapsed = clock_ns() - start;
	atomic_store(&iteration->sent, 1);
	close(fd);
close_timing:
	timing_close(&timing);
	return ret;
}

/*
 * The application looks for a packet when it is due: an interval after the last was sent, plus
 * the least that a delivery has taken. If it is not there yet, its interrupt wakes it.
 */
int receiver_run(struct run *run, struct iteration *iteration)
{
	int64_t expected = 0, fastest = INT64_MAX;
	struct timing timing;
	struct pollfd polled;
	int next = 0, ret;

	ret = timing_open(&timing, iteration->timing);
	if (ret)
		return ret;
	polled = (struct pollfd){
		.fd = network_socket(&run->nodes[1], &run->nodes[0]), .events = POLLIN,
	};
	if (polled.fd < 0) {
		ret = polled.fd;
		goto close_timing;
	}
	atomic_store(&iteration->ready, 1);
	while (next < total_of(run)) {
		union packet packet;
		int64_t received;

		timing_wait(&timing, expected);
		if (!poll(&polled, 1, QUIET_MS) && atomic_load(&iteration->sent))
			break;		/* the rest is lost */
		if (recv(polled.fd, &packet, PAYLOAD, MSG_DONTWAIT) != PAYLOAD ||
		    packet.magic != MAGIC || packet.seq >= (uint32_t)total_of(run))
			continue;
		received = clock_ns();
		iteration->records[packet.seq].received = received;
		next = packet.seq + 1;
		if (received - packet.sent < fastest)
			fastest = received - packet.sent;
		expected = packet.sent + interval_of(run) + fastest;
	}
	close(polled.fd);
close_timing:
	timing_close(&timing);
	return ret;
}
