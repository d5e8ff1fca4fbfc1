// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two network namespaces and a pair of virtual Ethernet devices between them.
 *
 * The namespaces have no names: nothing but this program's file descriptors and
 * processes keeps them, so that they go, devices and all, however it ends.
 */
#define _GNU_SOURCE
#include "aoi.h"
#include "clock.h"
#include "netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/veth.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define DEVICE "aoi0"
#define PREFIX 24
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

static int create_pair(int peer_netns)
{
	struct ifinfomsg link = { .ifi_family = AF_UNSPEC };
	struct netlink_message m;
	struct rtattr *info, *data, *peer;
	uint32_t netns = peer_netns;

	netlink_begin(&m, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link, sizeof(link));
	netlink_put(&m, IFLA_IFNAME, DEVICE, sizeof(DEVICE));
	info = netlink_nest(&m, IFLA_LINKINFO);
	netlink_put(&m, IFLA_INFO_KIND, "veth", sizeof("veth"));
	data = netlink_nest(&m, IFLA_INFO_DATA);
	peer = netlink_nest(&m, VETH_INFO_PEER);
	netlink_raw(&m, &link, sizeof(link));
	netlink_put(&m, IFLA_IFNAME, DEVICE, sizeof(DEVICE));
	netlink_put(&m, IFLA_NET_NS_FD, &netns, sizeof(netns));
	netlink_nest_end(&m, peer);
	netlink_nest_end(&m, data);
	netlink_nest_end(&m, info);
	return netlink_talk(&m);
}

static int device_index(void)
{
	struct ifreq request = { .ifr_name = DEVICE };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int ret;

	if (fd < 0)
		return -errno;
	ret = ioctl(fd, SIOCGIFINDEX, &request) ? -errno : request.ifr_ifindex;
	close(fd);
	return ret;
}

static int add_address(int index, struct in_addr address)
{
	struct ifaddrmsg message = {
		.ifa_family = AF_INET, .ifa_prefixlen = PREFIX, .ifa_index = index,
	};
	struct netlink_message m;

	netlink_begin(&m, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &message, sizeof(message));
	netlink_put(&m, IFA_LOCAL, &address, sizeof(address));
	netlink_put(&m, IFA_ADDRESS, &address, sizeof(address));
	return netlink_talk(&m);
}

static int bring_up(int index)
{
	struct ifinfomsg message = {
		.ifi_index = index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP,
	};
	struct netlink_message m;

	netlink_begin(&m, RTM_NEWLINK, 0, &message, sizeof(message));
	return netlink_talk(&m);
}

static void begin_qdisc(struct netlink_message *m, int index, const char *kind)
{
	struct tcmsg message = {
		.tcm_family = AF_UNSPEC, .tcm_ifindex = index,
		.tcm_handle = TC_H_MAKE(1 << 16, 0), .tcm_parent = TC_H_ROOT,
	};

	netlink_begin(m, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, &message,
		      sizeof(message));
	netlink_put(m, TCA_KIND, kind, strlen(kind) + 1);
}

/*
 * A rate alone: a token bucket, which most kernels have. It holds one packet: a link that could
 * save up would seem faster than it is to a sender that measures it by a few packets.
 */
static int shape_rate(int index, const struct link *link, int payload)
{
	uint64_t bytes = link->rate / 8;
	struct tc_tbf_qopt options = {
		.limit = QUEUE_PACKETS * FRAME,
		.rate = {
			.linklayer = TC_LINKLAYER_ETHERNET,
			.rate = bytes < UINT32_MAX ? bytes : UINT32_MAX,
		},
	};
	uint32_t burst = payload + HEADERS;
	struct netlink_message m;
	struct rtattr *nest;

	begin_qdisc(&m, index, "tbf");
	nest = netlink_nest(&m, TCA_OPTIONS);
	netlink_put(&m, TCA_TBF_PARMS, &options, sizeof(options));
	if (bytes >= UINT32_MAX)
		netlink_put(&m, TCA_TBF_RATE64, &bytes, sizeof(bytes));
	netlink_put(&m, TCA_TBF_BURST, &burst, sizeof(burst));
	netlink_nest_end(&m, nest);
	return netlink_talk(&m);
}

static int shape_netem(int index, const struct link *link)
{
	struct tc_netem_qopt options = {
		.limit = QUEUE_PACKETS + (link->rate ?
			link->rate / 8 * link->delay / NSEC_PER_SEC / FRAME : 10000),
		.loss = link->loss * UINT32_MAX,
	};
	struct tc_netem_rate rate = { .rate = link->rate / 8 };
	struct netlink_message m;
	struct rtattr *nest;

	begin_qdisc(&m, index, "netem");
	nest = netlink_nest(&m, TCA_OPTIONS);
	netlink_raw(&m, &options, sizeof(options));
	netlink_put(&m, TCA_NETEM_LATENCY64, &link->delay, sizeof(link->delay));
	if (link->rate)
		netlink_put(&m, TCA_NETEM_RATE, &rate, sizeof(rate));
	netlink_nest_end(&m, nest);
	return netlink_talk(&m);
}

static int shape(int index, const struct link *link, int payload)
{
	int ret;

	if (link->delay || link->loss > 0) {
		ret = shape_netem(index, link);
		if (ret == -ENOENT)
			fprintf(stderr, "age_of_information: this kernel has no netem (CONFIG_NET_SCH_NETEM), "
				"which --delay and --loss need\n");
		return ret;
	}
	if (!link->rate)
		return 0;
	ret = shape_rate(index, link, payload);
	if (ret == -ENOENT)
		fprintf(stderr, "age_of_information: this kernel has no token bucket (CONFIG_NET_SCH_TBF), which "
			"--rate needs\n");
	return ret;
}

static int configure(const struct node *node, const struct options *options)
{
	int index, ret;

	ret = network_enter(node);
	if (ret)
		return ret;
	index = device_index();
	if (index < 0)
		return index;
	ret = add_address(index, node->address);
	if (!ret)
		ret = bring_up(index);
	return ret ? ret : shape(index, &options->link, options->payload);
}

int network_create(struct run *run)
{
	int ret = 0;

	for (int i = 0; i < NODES && !ret; i++) {
		run->nodes[i].address.s_addr = htonl(0x0a4d0001 + i);	/* 10.77.0.1, .2 */
		ret = new_namespace(&run->nodes[i]);
	}
	if (ret == -EPERM)
		fprintf(stderr, "age_of_information: making network namespaces takes root's privileges\n");
	if (ret == -EINVAL)
		fprintf(stderr, "age_of_information: this kernel has no network namespaces (CONFIG_NET_NS)\n");
	if (ret)
		return ret;
	ret = create_pair(run->nodes[0].netns);
	if (ret == -EOPNOTSUPP)
		fprintf(stderr, "age_of_information: this kernel has no veth devices (CONFIG_VETH)\n");
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
