/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A periodic interrupt read by a SCHED_FIFO task on CPU 0, next to a load that keeps
 * every CPU busy in the kernel, with that CPU isolated or not.
 *
 * After: S. Brosky, "Shielded CPUs: Real-Time Performance in Standard Linux".
 */
#ifndef ISOLATED_CPU_H
#define ISOLATED_CPU_H

#include <stdbool.h>
#include <stdint.h>

#define MEASURED_CPU	0
#define LOAD_CPU	1
#define PRIORITY	90

/* What the load consists of. */
enum load { LOAD_NONE, LOAD_SPIN, LOAD_KERNEL, LOAD_SOFTIRQS };

struct sample {
	int64_t woke_ns;		/* CLOCK_MONOTONIC */
	int64_t due_ns;			/* the first interrupt that had not been read yet */
	uint32_t index;			/* of the interrupt, from 1 */
};

struct run {
	unsigned int samples;
	enum load load;
	bool isolate;
	bool device;			/* an interrupt of a device, which has an affinity */
	int period_ns;
	int64_t start_ns;		/* when the interrupt was switched on; or a little before */
	struct sample *sample;
};

/* Starts the load; its processes end with this one. 0 or -errno. */
int load_start(enum load load);

/*
 * Makes what gives the other CPU turns the lightest of tasks, or the scheduler would keep
 * the load away from the CPU on which that runs.
 */
void load_give_less_way(void);

/*
 * Ends all of it. On a CPU that is not isolated it would go on while nothing is measured, and
 * leave the other one hardly any turns: RCU stalls there, and unisolating waits.
 */
void load_stop(void);

/* Ends what gives the other CPU turns: an isolated CPU is idle, and takes few. */
void load_give_no_way(void);

/* Fills run->sample and run->period_ns; 0 or -errno. */
int measure(struct run *run);

/* Counts what comes to the measured CPU from now on. 0 or -errno. */
int count_start(void);
/* Writes task.hist, irq.hist and softirq.hist. 0 or -errno. */
int count_write(void);

/* Writes samples.csv and summary.csv; 0 or -errno. */
void record_write(const struct run *run);

#endif
