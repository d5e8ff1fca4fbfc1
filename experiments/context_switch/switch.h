/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tasks on one CPU that wake each other, and sleepers whose timers wait meanwhile. */
#ifndef LAB_SWITCH_H
#define LAB_SWITCH_H

#include "tasks.h"

#include <stdint.h>
#include <sys/types.h>

#define MAX_REPEATS 100000

struct options {
	int priority[2];	/* of the two players: SCHED_FIFO, 0: SCHED_OTHER */
	int groups;		/* of senders and receivers; 0: play ping-pong */
	int messages;		/* from each sender to each receiver of its group */
	int repeats;		/* samples */
	int warmup;
	int sleepers;		/* with a timer that does not expire, FIFO 10 */
	int cpu;
};

/* Fill @samples with the ns that each round took; 0 or -errno. */
int pingpong(const struct options *options, int64_t *samples);
int messages(const struct options *options, int64_t *samples);

/* Messages that one round of messages() delivers. */
int64_t messages_each(const struct options *options);

#endif
