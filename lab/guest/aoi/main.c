// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "aoi.h"
#include "clock.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAYLOAD_MOST 1472

static void usage(FILE *out)
{
	fprintf(out,
		"Usage: aoi [OPTION]...\n"
		"Age of information across a real-time datagram protocol between two network\n"
		"namespaces, which are made for it and go when it ends, however it ends. Leaves\n"
		"summary.csv, iterations.csv and packets.csv in the working directory. Root only.\n"
		"\n"
		"  -t, --timing=LIST    nanosleep, clockfix, poll; they take turns\n"
		"                       (nanosleep,clockfix)\n"
		"  -i, --iterations=N   of each (10); one more of each in the other direction\n"
		"  -n, --packets=N      to record in an iteration (1000)\n"
		"  -w, --warmup=N       packets before those (500)\n"
		"  -b, --payload=BYTES  of a packet (1172)\n"
		"  -r, --rate=BITS      the link's, per second; 0: no limit (0)\n"
		"  -d, --delay=NS       one way; needs netem (0)\n"
		"  -l, --loss=SHARE     of packets, 0 to 0.5; needs netem (0)\n"
		"  -D, --deadline=NS    a packet that takes so much longer than the fastest is of\n"
		"                       no use (20000000)\n"
		"  -s, --from-schedule  send one interval after the last packet was due, not\n"
		"                       after it was sent\n"
		"  -p, --priority=N     SCHED_FIFO priority, 0: SCHED_OTHER (80)\n"
		"  -c, --cpus=A,B       CPUs of the nodes (0 and, if there is one, 1)\n"
		"  -O, --offset=NS      the second node's clock is ahead by that (2500000000)\n"
		"  -F, --drift=PPB      and gains so many ns per s (40000)\n"
		"  -q, --quiet          no progress\n"
		"\n"
		"Exit status: 0 measured, 1 failed, 2 wrong usage.\n");
}

static int64_t number(const char *text, int64_t from, int64_t to, const char *option)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 0);
	if (errno || *end || end == text || value < from || value > to) {
		fprintf(stderr, "aoi: --%s=%s: not a number from %" PRId64 " to %" PRId64 "\n",
			option, text, from, to);
		exit(2);
	}
	return value;
}

static double share(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (*end || end == text || !(value >= 0 && value <= 0.5)) {
		fprintf(stderr, "aoi: --loss=%s: not a number from 0 to 0.5\n", text);
		exit(2);
	}
	return value;
}

static void parse_timings(char *list, struct options *options)
{
	char *word;

	options->timings = 0;
	while ((word = strsep(&list, ","))) {
		int kind = 0;

		while (kind < TIMING_KINDS && strcmp(word, timing_names[kind]))
			kind++;
		if (kind == TIMING_KINDS || options->timings == TIMINGS_MAX) {
			fprintf(stderr, "aoi: --timing: '%s': there are nanosleep, clockfix and "
				"poll\n", word);
			exit(2);
		}
		options->timing[options->timings++] = kind;
	}
}

static void parse_cpus(const char *text, struct node *nodes)
{
	if (sscanf(text, "%d,%d", &nodes[0].cpu, &nodes[1].cpu) == 2 && nodes[0].cpu >= 0 &&
	    nodes[1].cpu >= 0 && nodes[0].cpu < CPU_SETSIZE && nodes[1].cpu < CPU_SETSIZE)
		return;
	fprintf(stderr, "aoi: --cpus=%s: not two numbers of CPUs with a comma between\n", text);
	exit(2);
}

static const struct option long_options[] = {
	{ "timing", required_argument, NULL, 't' },
	{ "iterations", required_argument, NULL, 'i' },
	{ "packets", required_argument, NULL, 'n' },
	{ "warmup", required_argument, NULL, 'w' },
	{ "payload", required_argument, NULL, 'b' },
	{ "rate", required_argument, NULL, 'r' },
	{ "delay", required_argument, NULL, 'd' },
	{ "loss", required_argument, NULL, 'l' },
	{ "deadline", required_argument, NULL, 'D' },
	{ "from-schedule", no_argument, NULL, 's' },
	{ "priority", required_argument, NULL, 'p' },
	{ "cpus", required_argument, NULL, 'c' },
	{ "offset", required_argument, NULL, 'O' },
	{ "drift", required_argument, NULL, 'F' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static void parse_option(int option, struct run *run, bool *quiet)
{
	struct options *to = &run->options;

	switch (option) {
	case 't':
		parse_timings(optarg, to);
		break;
	case 'i':
		to->iterations = number(optarg, 1, 1000, "iterations");
		break;
	case 'n':
		to->packets = number(optarg, 10, 1000000, "packets");
		break;
	case 'w':
		to->warmup = number(optarg, 1, 1000000, "warmup");
		break;
	case 'b':
		to->payload = number(optarg, sizeof(struct packet), PAYLOAD_MOST, "payload");
		break;
	case 'r':
		to->link.rate = number(optarg, 0, 30000000000, "rate");
		break;
	case 'd':
		to->link.delay = number(optarg, 0, 10 * NSEC_PER_SEC, "delay");
		break;
	case 'l':
		to->link.loss = share(optarg);
		break;
	case 'D':
		to->deadline = number(optarg, 1000, 100 * NSEC_PER_SEC, "deadline");
		break;
	case 's':
		to->from_schedule = true;
		break;
	case 'p':
		to->priority = number(optarg, 0, 99, "priority");
		break;
	case 'c':
		parse_cpus(optarg, run->nodes);
		break;
	case 'O':
		run->nodes[1].clock_offset = number(optarg, -1000 * NSEC_PER_SEC,
						    1000 * NSEC_PER_SEC, "offset");
		break;
	case 'F':
		run->nodes[1].clock_drift = number(optarg, -1000000, 1000000, "drift");
		break;
	case 'q':
		*quiet = true;
		break;
	case 'h':
		usage(stdout);
		exit(0);
	default:
		fprintf(stderr, "Try 'aoi --help'.\n");
		exit(2);
	}
}

static struct iteration *new_iteration(const struct run *run)
{
	size_t size = sizeof(struct iteration) +
		      (run->options.warmup + run->options.packets) * sizeof(struct record);
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (memory == MAP_FAILED) {
		fprintf(stderr, "aoi: no memory for %zu bytes\n", size);
		exit(1);
	}
	return memory;
}

/* The timings take turns; the last of each is in the other direction. */
static void plan(struct run *run)
{
	const struct options *o = &run->options;

	run->count = (o->iterations + 1) * o->timings;
	run->iterations = calloc(run->count, sizeof(*run->iterations));
	if (!run->iterations) {
		fprintf(stderr, "aoi: no memory\n");
		exit(1);
	}
	for (int i = 0; i < run->count; i++) {
		run->iterations[i] = new_iteration(run);
		run->iterations[i]->timing = o->timing[i % o->timings];
		run->iterations[i]->reverse = i / o->timings == o->iterations;
	}
}

int main(int argc, char **argv)
{
	struct run run = {
		.options = {
			.timing = { TIMING_NANOSLEEP, TIMING_CLOCKFIX }, .timings = 2,
			.iterations = 10, .packets = 1000, .warmup = 500, .payload = 1172,
			.priority = 80, .deadline = 20 * NSEC_PER_MSEC,
		},
		.nodes[1] = {
			.cpu = sysconf(_SC_NPROCESSORS_ONLN) > 1,
			.clock_offset = 2500 * NSEC_PER_MSEC, .clock_drift = 40000,
		},
	};
	bool quiet = false;
	int option, ret;

	while ((option = getopt_long(argc, argv, "t:i:n:w:b:r:d:l:D:sp:c:O:F:qh", long_options,
				     NULL)) != -1)
		parse_option(option, &run, &quiet);
	if (optind < argc) {
		fprintf(stderr, "aoi: what is '%s'?\n", argv[optind]);
		return 2;
	}
	plan(&run);
	ret = network_create(&run);
	if (ret) {
		fprintf(stderr, "aoi: network: %s\n", strerror(-ret));
		return 1;
	}
	run.zero = clock_ns();
	for (int i = 0; i < run.count; i++) {
		ret = process_run_iteration(&run, run.iterations[i]);
		if (ret) {
			fprintf(stderr, "aoi: iteration %d failed\n", i);
			break;
		}
		if (!quiet)
			fprintf(stderr, "%d of %d\n", i + 1, run.count);
	}
	if (!ret)
		ret = record_write(&run);
	free(run.iterations);
	return ret ? 1 : 0;
}
