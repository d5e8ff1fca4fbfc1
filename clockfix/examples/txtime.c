// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * txtime.c - 1,000 packets that leave at their instants, 1 ms apart
 *
 *	txtime ADDRESS		a job sends each at its instant
 *	txtime ADDRESS etf	a job hands each over 500 us before, with its instant (SO_TXTIME);
 *				the queueing discipline ETF of the interface sends it. CAP_NET_ADMIN
 *
 * The kernel says when each left (SO_TIMESTAMPING): to the driver, by software. ETF hands over
 * within its delta before the instant; a card that can launch packets (LaunchTime) waits the rest.
 */
#include <arpa/inet.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <clockfix.h>

#define PACKETS	1000
#define PERIOD	1000000
#define LEAD	500000

static struct sockaddr_in to = { .sin_family = AF_INET };
static bool etf;
static int fd;

static void send_packet(void *arg, const struct clockfix_run *run)
{
	uint64_t instant = run->instant + LEAD;
	char control[CMSG_SPACE(sizeof(instant))] = { 0 };
	struct iovec data = { (void *)run, sizeof(*run) };
	struct msghdr msg = { &to, sizeof(to), &data, 1, NULL, 0, 0 };
	struct cmsghdr *cmsg = (struct cmsghdr *)control;

	(void)arg;
	if (etf) {
		msg.msg_control = control;
		msg.msg_controllen = sizeof(control);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_TXTIME;
		cmsg->cmsg_len = CMSG_LEN(sizeof(instant));
		memcpy(CMSG_DATA(cmsg), &instant, sizeof(instant));
	}
	sendmsg(fd, &msg, 0);
}

static bool open_socket(void)
{
	struct sock_txtime txtime = { .clockid = CLOCK_TAI };
	int stamps = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE |
		     SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_TSONLY;

	fd = socket(AF_INET, SOCK_DGRAM, 0);
	return fd >= 0 &&
	       !setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &stamps, sizeof(stamps)) &&
	       (!etf || !setsockopt(fd, SOL_SOCKET, SO_TXTIME, &txtime, sizeof(txtime)));
}

/* When a packet left, by CLOCK_REALTIME, and its number; false: there is none. */
static bool packet_left(int64_t *when, uint32_t *number)
{
	char control[256] __attribute__((aligned(8)));
	struct msghdr msg = { .msg_control = control, .msg_controllen = sizeof(control) };
	struct sock_extended_err error = { 0 };
	struct scm_timestamping stamp = { 0 };
	struct cmsghdr *cmsg;

	if (recvmsg(fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return false;
	for (cmsg = CMSG_FIRSTHDR(&msg); cmsg; cmsg = CMSG_NXTHDR(&msg, cmsg)) {
		if (cmsg->cmsg_level == SOL_SOCKET)
			memcpy(&stamp, CMSG_DATA(cmsg), sizeof(stamp));
		else
			memcpy(&error, CMSG_DATA(cmsg), sizeof(error));
	}
	*when = stamp.ts[0].tv_sec * 1000000000LL + stamp.ts[0].tv_nsec;
	*number = error.ee_data;
	return error.ee_origin == SO_EE_ORIGIN_TIMESTAMPING;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static int64_t late[PACKETS];
	struct clockfix_options options;
	struct clockfix_spec spec;
	struct clockfix *timer;
	int64_t start, utc, when;
	uint32_t number;
	int count = 0;

	etf = argc > 2 && !strcmp(argv[2], "etf");
	to.sin_port = htons(9);
	if (inet_pton(AF_INET, argc > 1 ? argv[1] : "127.0.0.1", &to.sin_addr) != 1) {
		fprintf(stderr, "usage: txtime [IPv4-ADDRESS [etf]]\n");
		return 2;
	}
	if (!open_socket()) {
		perror("txtime: socket");
		return 1;
	}
	clockfix_options_init(&options);
	options.policy = SCHED_FIFO;
	options.priority = 80;
	if (clockfix_create(&timer, &options))
		return 1;
	start = clockfix_now(CLOCK_TAI) / PERIOD * PERIOD + 100 * PERIOD;
	utc = (clockfix_now(CLOCK_TAI) - clockfix_now(CLOCK_REALTIME) + 500000000) / 1000000000;
	clockfix_spec_init(&spec);
	spec.clock = CLOCK_TAI;
	spec.start = start - (etf ? LEAD : 0);
	spec.period = PERIOD;
	spec.runs = PACKETS;
	spec.missed = CLOCKFIX_MISSED_CATCH_UP;
	spec.fn = send_packet;
	if (clockfix_schedule(timer, &spec, NULL))
		return 1;
	while (count < PACKETS && poll(&(struct pollfd){ .fd = fd }, 1, 500) > 0) {
		if (packet_left(&when, &number))
			late[count++] = when + utc * 1000000000 - start - number * (int64_t)PERIOD;
	}
	clockfix_destroy(timer, 0);
	qsort(late, count, sizeof(*late), compare);
	if (!count) {
		fprintf(stderr, "txtime: no packet left: is there a route?\n");
		return 1;
	}
	printf("%d packets of %d; left late by (least, median, 99 %%, max): %lld, %lld, %lld, %lld ns\n",
	       count, PACKETS, (long long)late[0], (long long)late[count / 2],
	       (long long)late[count * 99 / 100], (long long)late[count - 1]);
	return 0;
}
