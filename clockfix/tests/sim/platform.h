/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * platform.h - a simulated machine
 *
 * Takes the place of the file of the same name of the library, whose sources are compiled
 * against it. Time passes by what is done only: each read of a clock has its cost, a sleep ends
 * late by what the test injects. So every run is the same, to the nanosecond.
 */
#ifndef CLOCKFIX_PLATFORM_H
#define CLOCKFIX_PLATFORM_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define NSEC_PER_SEC 1000000000LL
#define SIM_DEVICE -5	/* the clock of a PTP device */

struct sim {
	int64_t now;			/* CLOCK_MONOTONIC */
	int64_t tai_offset;
	int64_t clock_cost;		/* ns per read of a clock */
	int64_t device_cost;		/* ns per read of SIM_DEVICE */
	double device_rate;		/* by CLOCK_MONOTONIC; 0: it is gone */
	int64_t sleep_cost;		/* ns of CPU time per sleep */
	int64_t (*oversleep)(void);	/* NULL: 0 */
	void (*sleeping)(int64_t until);	/* called in a sleep: another thread's doing */
	void (*reading)(void);		/* called at each read of the clock */
	uint64_t events, disturb_at;	/* clock read, job, wake-up; the one to disturb */
	int64_t pause;			/* by a pause */
	bool woken;			/* set by a wake-up */
	bool realtime;			/* priority */
	int interrupt;			/* sleeps to be ended by EINTR */
	uint64_t sleeps;
	int64_t slept, last_until;
	int64_t alloc_fail;		/* allocations left before they fail, -1: never */
	int64_t allocated;
};

extern struct sim sim;

void sim_reset(void);

/* Something happens: here the machine may be disturbed. */
void sim_event(void);

int64_t pf_clock(clockid_t clock);
int64_t pf_mono(void);
int64_t pf_cpu_time(void);
void pf_relax(void);
int pf_futex_wait(const _Atomic uint32_t *word, uint32_t val, int64_t until);
void pf_futex_wake(const _Atomic uint32_t *word);
int pf_sleep(clockid_t clock, int64_t until);
bool pf_realtime(void);
int64_t pf_awake_limit(void);
void *pf_alloc(size_t size);
void pf_free(void *mem, size_t size);

#endif
