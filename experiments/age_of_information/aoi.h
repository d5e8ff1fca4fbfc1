/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Age of information across datagrams: a sender sends a sample as often as the link
 * lets one through, a receiver takes it when it is due. What is compared is how both
 * wait for their instants.
 *
 * S. Reif, W. Schröder-Preikschat: Precisely Timed Task Execution, section VI.
 *
 * Times are ns of CLOCK_MONOTONIC, which both nodes have.
 */
#ifndef LAB_AOI_H
#define LAB_AOI_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdint.h>

#define NODES 2
#define PAYLOAD 1172
#define FRAME (PAYLOAD + 8 + 20 + 14)	/* UDP, IP, Ethernet */
#define PRIORITY 80

enum timing_kind {
	TIMING_NANOSLEEP,	/* clock_nanosleep(), absolute */
	TIMING_CLOCKFIX,	/* clockfix_sleep_until() */
	TIMING_POLL,		/* nothing but looking at the clock: the limit */
	TIMING_KINDS
};

struct timing {
	enum timing_kind kind;
	struct clockfix_sleeper *sleeper;
};

struct node {
	int netns;		/* file descriptor */
	int cpu;
	struct in_addr address;
};

struct record {
	int64_t due;
	int64_t sent;
	int64_t received;	/* by the application; 0: lost */
};

/* One iteration; shared by the processes. */
struct iteration {
	enum timing_kind timing;
	atomic_int ready;	/* the receiver listens */
	atomic_int sent;	/* the sender has finished */
	int64_t cpu_time[NODES];
	int64_t elapsed;
	struct record records[];
};

struct run {
	int iterations;		/* of each timing */
	int packets;		/* recorded ones of an iteration */
	int warmup;		/* packets before those */
	int64_t rate;		/* of the link, bit/s */
	struct node nodes[NODES];
};

/* network.c; 0 or -errno */
int network_create(struct run *run);
int network_enter(const struct node *node);
int network_socket(const struct node *node, const struct node *peer);

/* nodes.c: the processes; 0 or -errno */
int sender_run(struct run *run, struct iteration *iteration);
int receiver_run(struct run *run, struct iteration *iteration);

/* timing.c; timing_wait() returns when the clock shows @instant or more, never before */
int timing_open(struct timing *timing, enum timing_kind kind);
void timing_wait(struct timing *timing, int64_t instant);
void timing_close(struct timing *timing);

#endif
