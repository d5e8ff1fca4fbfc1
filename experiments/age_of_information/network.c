// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two network namespaces and a pair of virtual Ethernet devices between them, by iproute2.
 *
 * The namespaces have no names: nothing but this program's file descriptors and
 * processes keeps them, so that they go, devices and all, however it ends.
 */
#define _GNU_SOURCE
#include "aoi.h"

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
#define PORT 7777
#define QUEUE_PACKETS 100
#define BURST_PACKETS 10

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
 * A rate is a token bucket. Its timer oversleeps, too: with some packets in the bucket the link
 * makes up for that, and a queue does not stay for ever.
 */
static int configure(const struct node *node, int64_t rate)
{
	int ret = network_enter(node);

	if (!ret)
		ret = shell("ip address add %s/24 dev " DEVICE " && ip link set " DEVICE " up",
			  inet_ntoa(node->address));
	if (!ret)
		ret = shell("tc qdisc replace dev " DEVICE " root tbf rate %" PRId64 "bit burst %d limit %d",
			  rate, BURST_PACKETS * FRAME, QUEUE_PACKETS * FRAME);
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
		ret = configure(&run->nodes[i], run->rate);
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
	int fd, ret;

	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&own, sizeof(own)) ||
	    connect(fd, (struct sockaddr *)&other, sizeof(other))) {
		ret = -errno;
		close(fd);
		return ret;
	}
	return fd;
}
