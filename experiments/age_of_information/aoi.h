/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Age of information across a small real-time datagram protocol.
 *
 * A sender sends samples as datagrams, as fast as the bottleneck that it measures
 * lets them through and no faster. A receiver takes them when they are due. Data
 * that has missed its deadline is of no use: it is not sent again, the application
 * learns that it is lost. What is compared is how sender and receiver wait for
 * their instants.
 *
 * S. Reif, W. Schröder-Preikschat: Precisely Timed Task Execution, section VI.
 *
 * Times are ns of CLOCK_MONOTONIC, which both nodes have.
 */
#ifndef LAB_AOI_H
#define LAB_AOI_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rate.h"

#define NODES 2
#define TIMINGS_MAX 4

enum timing_kind {
	TIMING_NANOSLEEP,	/* clock_nanosleep(), absolute, timer slack 1 ns */
	TIMING_CLOCKFIX,	/* clockfix_sleep_until() */
	TIMING_POLL,		/* nothing but looking at the clock: the limit */
	TIMING_KINDS
};

extern const char *const timing_names[TIMING_KINDS];

struct timing {
	enum timing_kind kind;
	struct clockfix_sleeper *sleeper;
};

struct node {
	int netns;		/* file descriptor */
	int cpu;
	struct in_addr address;
};

struct options {
	enum timing_kind timing[TIMINGS_MAX];
	int timings;
	int iterations;		/* of each timing */
	int packets;		/* recorded ones of an iteration */
	int warmup;		/* packets before those */
	int payload;		/* bytes */
	int priority;		/* SCHED_FIFO; 0: SCHED_OTHER */
	int64_t deadline;	/* more than the fastest packet takes */
	uint64_t rate;		/* of the link, bit/s; 0: as fast as it goes */
};

/* A packet's fate, as the receiving application learns it. */
enum status {
	STATUS_LOST = 0,
	STATUS_DELIVERED,
	STATUS_LATE,		/* came, but after its deadline */
};

struct record {
	/* by the sender, in its node time */
	int64_t due;
	int64_t sent;
	/* by the receiver, in its node time */
	int64_t arrival;	/* in the kernel */
	int64_t received;	/* by the application */
	enum status status;
};

/* One iteration; shared by the processes. */
struct iteration {
	enum timing_kind timing;
	atomic_int ready;	/* futex: the receiver listens */
	atomic_int sent;	/* packets, when the sender has finished */
	int64_t cpu_sender;	/* CPU time */
	int64_t cpu_receiver;
	int64_t elapsed;
	int64_t bottleneck;	/* ns per packet, as measured at the end */
	int64_t min_rtt;
	int64_t reported_lost;	/* that the sender was told of */
	struct record records[];
};

struct run {
	struct options options;
	struct node nodes[NODES];
	int count;		/* iterations altogether */
	struct iteration **iterations;
};

/* Packets as they are on the wire; both ends are the same machine. */
#define PACKET_MAGIC	0x414f4931
#define ACK_MAGIC	0x414f4932
#define PORT		7777

struct packet {
	uint32_t magic;
	uint32_t seq;
	int64_t sent;
	int64_t next_in;	/* the sender means to send the next one then */
};

struct ack {
	uint32_t magic;
	uint32_t seq;
	int64_t received;	/* by the application */
	uint32_t lost;		/* altogether */
};

/* network.c */
int network_create(struct run *run);
int network_enter(const struct node *node);
int network_socket(const struct node *node, const struct node *peer);
ssize_t network_receive(int fd, void *buffer, size_t size, int64_t *arrival);

/* sender.c, receiver.c: the processes; they return an exit status */
int sender_run(struct run *run, struct iteration *iteration);
int receiver_run(struct run *run, struct iteration *iteration);

/* process.c */
int process_prepare(const struct run *run, const struct node *node);
int64_t process_cpu_time(void);
void flag_set(atomic_int *flag, int value);
int flag_wait(atomic_int *flag, int64_t patience);
int process_run_iteration(struct run *run, struct iteration *iteration);
/* timing_open() - prepare @timing for the calling thread; 0 or -errno */
int timing_open(struct timing *timing, enum timing_kind kind);

/* timing_wait() - return when CLOCK_MONOTONIC shows @instant or more, never before */
void timing_wait(struct timing *timing, int64_t instant);

void timing_close(struct timing *timing);

#endif
