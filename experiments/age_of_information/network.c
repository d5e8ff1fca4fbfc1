// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two network namespaces and a pair of virtual Ethernet devices between them, by iproute2.
 *
 * The namespaces have no names: nothing but this program's file descriptors and
 * processes keeps them, so that they go, devices and all, however it ends.
 */
#define _GNU_SOURCE
#include "aoi.h"
#include "clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DEVICE "aoi0"
#define FRAME 1514
#define HEADERS (14 + 20 + 8)	/* Ethernet, IP, UDP */
#define QUEUE_PACKETS 100
#define CLOCK_READS 50

static int new_namespace(struct node *node)
{
	if (unshare(CLONE_NEWNET))
		return -errno;
	node->netns = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	return node->netns < 0 ? -errno : 0;
}

int network_enter(const struct node *node)
{
	return setns(node->netns, CLONE_NEWNET) ? -errno : 0;
}

static int shell(const char *format, ...)
{
	char command[256];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	return system(command) ? -EIO : 0;
}

/*
 * A rate is a token bucket of one packet: a link that could save up would seem faster than it
 * is to a sender that measures it by a few packets.
 */
static int configure(const struct node *node, const struct options *options)
{
	int ret = network_enter(node);

	if (!ret)
		ret = shell("ip address add %s/24 dev " DEVICE " && ip link set " DEVICE " up",
			  inet_ntoa(node->address));
	if (!ret && options->rate)
		ret = shell("tc qdisc replace dev " DEVICE " root tbf rate %" PRIu64 "bit burst %d limit %d",
			  options->rate, options->payload + HEADERS, QUEUE_PACKETS * FRAME);
	return ret;
}

int network_create(struct run *run)
{
	int ret = 0;

	for (int i = 0; i < NODES && !ret; i++) {
		run->nodes[i].address.s_addr = htonl(0x0a4d0001 + i);	/* 10.77.0.1, .2 */
		ret = new_namespace(&run->nodes[i]);
	}
	if (ret)
		return ret;
	/* in the last one */
	ret = shell("ip link add " DEVICE " type veth peer name " DEVICE " netns /proc/%d/fd/%d",
		  getpid(), run->nodes[0].netns);
	for (int i = 0; i < NODES && !ret; i++)
		ret = configure(&run->nodes[i], &run->options);
	return ret;
}

int network_socket(const struct node *node, const struct node *peer)
{
	struct sockaddr_in own = {
		.sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr = node->address,
	};
	struct sockaddr_in other = {
		.sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr = peer->address,
	};
	const int one = 1;
	int fd, ret;

	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *)&own, sizeof(own)) ||
	    connect(fd, (struct sockaddr *)&other, sizeof(other))) {
		ret = -errno;
		close(fd);
		return ret;
	}
	return fd;
}

/*
 * The kernel notes arrivals in CLOCK_REALTIME. Its distance is taken once for a process, which
 * lives for one iteration: reading both clocks each time would add to every packet's time.
 */
static int64_t realtime_ahead(void)
{
	static bool known;
	static int64_t ahead;
	int64_t least = INT64_MAX;

	for (int i = 0; i < CLOCK_READS && !known; i++) {
		struct timespec real;
		int64_t before = clock_ns(), after;

		clock_gettime(CLOCK_REALTIME, &real);
		after = clock_ns();
		if (after - before >= least)
			continue;
		least = after - before;
		ahead = real.tv_sec * NSEC_PER_SEC + real.tv_nsec - (before + after) / 2;
	}
	known = true;
	return ahead;
}

static int64_t arrival_of(struct msghdr *message)
{
	struct cmsghdr *control;
	struct timespec stamp;

	for (control = CMSG_FIRSTHDR(message); control; control = CMSG_NXTHDR(message, control)) {
		if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_TIMESTAMPNS)
			continue;
		memcpy(&stamp, CMSG_DATA(control), sizeof(stamp));
		return stamp.tv_sec * NSEC_PER_SEC + stamp.tv_nsec - realtime_ahead();
	}
	return clock_ns();
}

/* network_receive() - a datagram if there is one, and when it arrived in the kernel */
ssize_t network_receive(int fd, void *buffer, size_t size, int64_t *arrival)
{
	char control[CMSG_SPACE(sizeof(struct timespec))];
	struct iovec part = { buffer, size };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT);

	if (n >= 0)
		*arrival = arrival_of(&message);
	return n;
}
