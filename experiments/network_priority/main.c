// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A flood of packets next to the control loop: what an ordinary task sends by one network card
 * comes in by another, at times when the job runs.
 *
 * Usage: network_priority none|flood|PRIORITY LOOP-OPTION...
 */
#define _GNU_SOURCE
#include "isolate.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define RECEIVER	"eth0"
#define SENDER		"eth1"
#define CONFIG		"/tmp/network.conf"
#define FRAMES		64	/* on their way at once, as many as a card's queue takes */

static int set_up(const char *device)
{
	struct ifreq request = { .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), ret;

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device);
	ret = ioctl(fd, SIOCSIFFLAGS, &request) ? -errno : 0;
	close(fd);
	return ret;
}

/* Broadcasts of a protocol that nobody listens to */
static void flood(void)
{
	static const char frame[64] = "\xff\xff\xff\xff\xff\xff\2\0\0\0\0\0\x88\xb5";
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET, .sll_ifindex = if_nametoindex(SENDER),
		.sll_halen = ETH_ALEN,
	};
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		for (int i = 0; i < FRAMES; i++)
			sendto(fd, frame, sizeof(frame), 0, (void *)&address, sizeof(address));
		usleep(100);
	}
}

/* The receiver's packets are processed by a thread of this priority, 0: by softirqs. */
static int set_threads(int priority)
{
	FILE *file = fopen(CONFIG, "we");

	if (!file)
		return -errno;
	if (priority)
		fprintf(file, "threaded = " RECEIVER "\npriority = %d napi/" RECEIVER "-*\n", priority);
	if (fclose(file))
		return -errno;
	return isolate_as(CONFIG);
}

int main(int argc, char **argv)
{
	int ret;

	if (argc < 2) {
		fputs("Usage: network_priority none|flood|PRIORITY LOOP-OPTION...\n", stderr);
		return 2;
	}
	ret = set_up(RECEIVER);
	if (!ret)
		ret = set_up(SENDER);
	if (!ret)
		ret = set_threads(atoi(argv[1]));
	if (ret) {
		fprintf(stderr, "network_priority: %s\n", strerror(-ret));
		return 1;
	}
	if (strcmp(argv[1], "none") && !fork())
		flood();
	argv[1] = "control_loop";
	execvp(argv[1], argv + 1);
	return 1;
}
