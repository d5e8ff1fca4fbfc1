// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * follow.c - a cycle that follows the phase of an external clock, as an EtherCAT master follows
 * the distributed clock of its first slave
 *
 * The bus's clock, here simulated, runs 50 ppm faster, and its cycle begins somewhere. Each cycle the job
 * reads the bus's time (ecx_context.DCtime, or ecrt_master_reference_clock_time()) and submits
 * itself for its next instant: one period on, corrected by a PI controller.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <clockfix.h>

#define CYCLE	1000000		/* ns by the bus's clock */
#define TARGET	250000		/* ns after the begin of the bus's cycle */
#define CYCLES	3000
#define SETTLED	1500		/* from then on the phase is to be right */

static int64_t epoch;		/* CLOCK_MONOTONIC when the bus's clock showed 0 */
static int64_t most;		/* error, once settled */
static double integral;		/* of the error: what the period is off, in ns */
static int cycles;

static double within(double value, double limit)
{
	return value > limit ? limit : value < -limit ? -limit : value;
}

static void cycle(void *arg, const struct clockfix_run *run)
{
	int64_t bus = (run->instant - epoch) * 1.00005, error = (bus - TARGET) % CYCLE;

	/* exchange process data */
	if (error > CYCLE / 2)
		error -= CYCLE;
	if (++cycles > SETTLED && llabs(error) > most)
		most = llabs(error);
	integral = within(integral + error * 0.005, CYCLE / 1000);
	/* never by more than a hundredth of a cycle: slaves want a steady one */
	if (cycles < CYCLES)
		clockfix_submit(run->timer, run->instant + CYCLE -
				(int64_t)within(error * 0.1 + integral, CYCLE / 100), cycle, NULL, NULL);
}

int main(void)
{
	struct clockfix *timer;
	int64_t start = clockfix_now(CLOCK_MONOTONIC) + 10000000;

	epoch = start - 123456789;
	if (clockfix_create(&timer, NULL) || clockfix_submit(timer, start, cycle, NULL, NULL) ||
	    clockfix_drain(timer) || clockfix_destroy(timer, 0))
		return 1;
	printf("%d cycles, phase off by %" PRId64 " ns at most once settled\n", cycles, most);
	return cycles < CYCLES || most > CYCLE / 100;
}
