// SPDX-License-Identifier: GPL-2.0-or-later
/* What isolate.sh cannot do itself: isolate_helper spin|tell|work|packets|tap */
#define _GNU_SOURCE
#include "file.h"
#include "lib/network.h"
#include "lib/task.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int spin(void)
{
	spin_until(UINT64_MAX);
	return 0;
}

/* As what "timershield run" starts: CPUs, policy, priority, slack. */
static int tell(void)
{
	struct sched_param param;
	unsigned long cpus = 0;
	char slack[32];

	sched_getaffinity(0, sizeof(cpus), (cpu_set_t *)&cpus);
	sched_getparam(0, &param);
	file_read("/proc/self/timerslack_ns", slack, sizeof(slack));
	printf("%lx %d %d %s", cpus, sched_getscheduler(0), param.sched_priority, slack);
	return 0;
}

/* A benchmark: the same work again and again; the longest time in percent of the shortest. */
static int work(void)
{
	u64 shortest = UINT64_MAX, longest = 0;

	for (int i = 0; i < 50; i++) {
		u64 begin = now(), time;

		for (volatile int round = 0; round < 500000; round++)
			;
		time = now() - begin;
		shortest = time < shortest ? time : shortest;
		longest = time > longest ? time : longest;
	}
	return printf("%llu\n", longest * 100 / shortest) < 0;
}

/* In the softirq NET_RX, or on PREEMPT_RT from Linux 6.10 on in a thread. */
static unsigned long packets_of_cpu_1(void)
{
	static char text[16384];
	char *line;

	file_read("/proc/net/softnet_stat", text, sizeof(text));
	line = strchr(text, '\n');
	return line ? strtoul(line + 1, NULL, 16) : 0;
}

/* Of 64 flows from CPU 0, so that steering uses all CPUs: how many CPU 1 processes. */
static int packets(void)
{
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int receiver = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t length = sizeof(own);
	unsigned long before;

	if (bind(receiver, (struct sockaddr *)&own, length) ||
	    getsockname(receiver, (struct sockaddr *)&own, &length))
		return 1;
	pin(0);
	before = packets_of_cpu_1();
	for (unsigned int flow = 0; flow < 64; flow++) {
		int sender = socket(AF_INET, SOCK_DGRAM, 0);

		for (unsigned int i = 0; i < 20; i++) {
			sendto(sender, "", 1, 0, (struct sockaddr *)&own, length);
			sleep_for(200 * USEC);
		}
		close(sender);
	}
	printf("%lu\n", packets_of_cpu_1() - before);
	return 0;
}

static int tap(void)
{
	return network_open_polled() < 0 ? 1 : pause();
}

int main(int argc, char **argv)
{
	static const struct { const char *name; int (*run)(void); } verbs[] = {
		{ "spin", spin }, { "tell", tell }, { "work", work }, { "packets", packets }, { "tap", tap },
	};

	for (unsigned int i = 0; argc == 2 && i < ARRAY_SIZE(verbs); i++)
		if (!strcmp(argv[1], verbs[i].name))
			return verbs[i].run();
	return 2;
}
