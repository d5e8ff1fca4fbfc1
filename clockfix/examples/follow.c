// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * follow.c - a cycle that follows the phase of an external clock, as an EtherCAT master follows
 * the distributed clock of its first slave
 *
 * The bus has an oscillator of its own, here simulated: it runs 50 ppm faster, and its cycle
 * begins somewhere. Each cycle the job reads the bus's time (for EtherCAT ecx_context.DCtime, or
 * ecrt_master_reference_clock_time()), computes how far it is from where it wants to be in the
 * bus's cycle, and corrects its own next start and period: a PI controller.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <clockfix.h>

#define CYCLE	1000000		/* ns by the bus's clock */
#define TARGET	250000		/* ns after the begin of the bus's cycle */
#define CYCLES	3000
#define SETTLED	1500		/* from then on the phase is to be right */

struct master {
	int64_t epoch;		/* CLOCK_MONOTONIC when the bus's clock showed 0 */
	double integral;	/* of the phase error: what the period is off, in ns */
	int64_t first, most;	/* errors: of the first cycle, and once settled */
	int cycles, failed;
};

static int64_t bus_time(const struct master *master, int64_t now)
{
	return (int64_t)((now - master->epoch) * 1.00005);
}

/* How far after the target, from half a cycle before to half a cycle after. */
static int64_t phase_error(int64_t bus)
{
	int64_t phase = (bus - TARGET) % CYCLE;

	return phase > CYCLE / 2 ? phase - CYCLE : phase;
}

static void cycle(void *arg, const struct clockfix_run *run)
{
	struct master *master = arg;
	int64_t error, shift;

	/* exchange process data, then look at the bus's clock */
	error = phase_error(bus_time(master, run->instant));
	if (!master->cycles++)
		master->first = error;
	if (master->cycles > SETTLED && llabs(error) > master->most)
		master->most = llabs(error);
	master->integral += error * 0.005;
	shift = -(int64_t)(error * 0.1 + master->integral);
	/* never by more than a hundredth of a cycle: slaves want a steady one */
	if (shift > CYCLE / 100)
		shift = CYCLE / 100;
	if (shift < -CYCLE / 100)
		shift = -CYCLE / 100;
	/* the integral stands for the period: it must not wind up meanwhile */
	if (master->integral > CYCLE / 1000 || master->integral < -CYCLE / 1000)
		master->integral = 0;
	master->failed |= clockfix_adjust(run->timer, run->job, shift, 0);
}

int main(void)
{
	static struct master master;
	struct clockfix_options options;
	struct clockfix_spec spec;
	struct clockfix *timer;
	int ret;

	clockfix_options_init(&options);
	options.policy = SCHED_FIFO;
	options.priority = 80;
	options.flags = CLOCKFIX_LOCK_MEMORY;
	ret = clockfix_create(&timer, &options);
	if (ret) {
		fprintf(stderr, "follow: no timer: %s\n", strerror(-ret));
		return 1;
	}
	clockfix_spec_init(&spec);
	spec.start = clockfix_now(CLOCK_MONOTONIC) + 10000000;
	spec.period = CYCLE;
	spec.runs = CYCLES;
	spec.missed = CLOCKFIX_MISSED_CATCH_UP;
	spec.fn = cycle;
	spec.arg = &master;
	master.epoch = spec.start - 123456789;
	ret = clockfix_schedule(timer, &spec, NULL);
	if (!ret)
		ret = clockfix_drain(timer);
	clockfix_destroy(timer, 0);
	if (ret || master.failed || master.cycles < CYCLES) {
		fprintf(stderr, "follow: %s\n", ret ? strerror(-ret) : "not all cycles ran");
		return 1;
	}
	printf("phase off by %" PRId64 " ns at first, by %" PRId64 " ns at most once settled\n",
	       master.first, master.most);
	return master.most > CYCLE / 100;
}
