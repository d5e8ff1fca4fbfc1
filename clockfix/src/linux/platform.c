// SPDX-License-Identifier: LGPL-2.1-or-later
/* platform.c - sleeping and memory on Linux */
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform.h"

/* the one that takes 64 bits each */
#ifdef SYS_futex_time64
#define FUTEX SYS_futex_time64
#else
#define FUTEX SYS_futex
#endif

static struct timespec timespec_of(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / NSEC_PER_SEC, .tv_nsec = ns % NSEC_PER_SEC };
}

int pf_futex_wait(const _Atomic uint32_t *word, uint32_t val, int64_t until)
{
	int64_t ts[] = { until / NSEC_PER_SEC, until % NSEC_PER_SEC };

	/* FUTEX_WAIT_BITSET takes an absolute CLOCK_MONOTONIC time, FUTEX_WAIT a relative one */
	if (syscall(FUTEX, word, FUTEX_WAIT_BITSET_PRIVATE, val,
		    until == INT64_MAX ? NULL : ts, NULL, FUTEX_BITSET_MATCH_ANY))
		return -errno;
	return 0;
}

void pf_futex_wake(const _Atomic uint32_t *word)
{
	syscall(FUTEX, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

int pf_sleep(clockid_t clock, int64_t until)
{
	struct timespec ts = timespec_of(until > 0 ? until : 0);

	return -clock_nanosleep(clock, TIMER_ABSTIME, &ts, NULL);
}

bool pf_realtime(void)
{
	int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;

	return policy == SCHED_FIFO || policy == SCHED_RR || policy == SCHED_DEADLINE;
}

int64_t pf_awake_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_RTTIME, &limit) || limit.rlim_cur > INT64_MAX / 1000)
		return INT64_MAX;
	return (int64_t)limit.rlim_cur * 1000;
}

void *pf_alloc(size_t size)
{
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return mem == MAP_FAILED ? NULL : mem;
}

void pf_free(void *mem, size_t size)
{
	munmap(mem, size);
}
