// SPDX-License-Identifier: LGPL-2.1-or-later
/* platform.c - a simulated machine */
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <platform.h>

struct sim sim;

void sim_reset(void)
{
	memset(&sim, 0, sizeof(sim));
	sim.now = 1000 * NSEC_PER_SEC;
	sim.tai_offset = 1700000000 * NSEC_PER_SEC;
	sim.clock_cost = 25;
	sim.device_cost = 1500;
	sim.device_rate = 1;
	sim.alloc_fail = -1;
}

void sim_event(void)
{
	if (++sim.events != sim.disturb_at)
		return;
	sim.now += sim.pause;
}

int64_t pf_mono(void)
{
	int64_t value;

	/* what it returns is the time in the middle of the read */
	sim_event();
	sim.now += sim.clock_cost / 2;
	value = sim.now;
	sim.now += sim.clock_cost - sim.clock_cost / 2;
	sim_event();
	if (sim.reading)
		sim.reading();
	return value;
}

int64_t pf_cpu_time(void)
{
	return pf_mono() - sim.slept;
}

int64_t pf_clock(clockid_t clock)
{
	switch (clock) {
	case CLOCK_MONOTONIC:
		return pf_mono();
	case CLOCK_TAI:
		return pf_mono() + sim.tai_offset;
	case SIM_DEVICE:
		sim.now += sim.device_cost;
		return sim.device_rate ? pf_mono() * sim.device_rate : -EINVAL;
	default:
		return -EINVAL;
	}
}

void pf_relax(void)
{
	sim.now += 15;
}

static int64_t offset_of(clockid_t clock)
{
	return clock == CLOCK_TAI ? sim.tai_offset : 0;
}

static int sleep_to(clockid_t clock, int64_t instant)
{
	int64_t begin = sim.now, until = instant - offset_of(clock);

	sim.sleeps++;
	sim_event();
	sim.last_until = until;
	sim.woken = false;
	if (sim.sleeping)
		sim.sleeping(until);
	/* it may have been set meanwhile */
	until = instant - offset_of(clock);
	if (sim.interrupt) {
		sim.interrupt--;
		return -EINTR;
	}
	if (sim.woken)
		return 0;
	if (until == INT64_MAX) {
		fprintf(stderr, "sim: sleeps for ever and nobody wakes it\n");
		abort();
	}
	if (until > sim.now)
		sim.now = until;
	if (sim.oversleep)
		sim.now += sim.oversleep();
	sim_event();
	sim.slept += sim.now - begin;
	sim.now += sim.sleep_cost;
	return -ETIMEDOUT;
}

int pf_futex_wait(const _Atomic uint32_t *word, uint32_t val, int64_t until)
{
	if (atomic_load(word) != val)
		return -EAGAIN;
	return sleep_to(CLOCK_MONOTONIC, until);
}

void pf_futex_wake(const _Atomic uint32_t *word)
{
	sim.woken = true;
}

int pf_sleep(clockid_t clock, int64_t until)
{
	int ret = sleep_to(clock, until);

	return ret == -ETIMEDOUT ? 0 : ret;
}

bool pf_realtime(void)
{
	return sim.realtime;
}

int64_t pf_awake_limit(void)
{
	return INT64_MAX;
}

void *pf_alloc(size_t size)
{
	if (!sim.alloc_fail)
		return NULL;
	if (sim.alloc_fail > 0)
		sim.alloc_fail--;
	sim.allocated++;
	/* don't give it back to the system between short tests */
	mallopt(M_MMAP_THRESHOLD, 64 << 20);
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	size = (size + 63) & -64;	/* of cache lines */
	return memset(aligned_alloc(64, size), 0, size);
}

void pf_free(void *mem, size_t size)
{
	sim.allocated--;
	free(mem);
}
