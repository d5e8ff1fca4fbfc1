// SPDX-License-Identifier: GPL-2.0-or-later
/* Timers of ordinary tasks: held and then released, and next to another ordinary task. */
#include "price.h"
#include "clock.h"
#include "tasks.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMERS 1000
#define SAMPLES 501
#define BUSY (4 * NSEC_PER_MSEC)
#define SOON (20 * NSEC_PER_USEC)

static void arm(int fd, int64_t expiry)
{
	struct itimerspec when = { .it_value = to_timespec(expiry) };

	must(!timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL), "timerfd");
}

static void await(int fd)
{
	uint64_t expirations;

	must(read(fd, &expirations, sizeof(expirations)) == sizeof(expirations), "read");
}

void arming(const struct row *row)
{
	static int64_t samples[SAMPLES];
	int64_t expiry = clock_ns() + 3600 * NSEC_PER_SEC;
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);

	must(!task_fifo(0, 99), "priority");
	for (int i = 0; i < SAMPLES; i++) {
		int64_t begin = clock_ns(), armed;

		arm(fd, expiry);
		armed = clock_ns();
		arm(fd, 0);
		samples[i] = row->number ? armed - begin : clock_ns() - armed;
	}
	must(!task_fifo(0, 0), "priority");
	close(fd);
	found_samples(row, samples, SAMPLES);
}

static void compute_until(int64_t end)
{
	while (clock_ns() < end)
		;
}

void release(const struct row *row)
{
	struct rlimit limit = { TIMERS + 64, TIMERS + 64 };
	int64_t zero = clock_ns() + 200 * NSEC_PER_MSEC;
	uint64_t interrupts;
	int fds[TIMERS];

	must(!setrlimit(RLIMIT_NOFILE, &limit), "files");
	for (int i = 0; i < TIMERS; i++) {
		fds[i] = timerfd_create(CLOCK_MONOTONIC, 0);
		arm(fds[i], zero + NSEC_PER_MSEC + row->number * i);
	}
	must(clock_ns() < zero && !task_fifo(0, 99), "priority");
	sleep_until(zero);
	interrupts = timer_interrupts();
	compute_until(zero + BUSY);
	must(!task_fifo(0, 0), "priority");
	compute_until(zero + 2 * BUSY);
	found(row, "interrupts", timer_interrupts() - interrupts, TIMERS);
	for (int i = 0; i < TIMERS; i++) {
		await(fds[i]);
		close(fds[i]);
	}
	/* What the kernel frees after a grace period is not the next row's. */
	sleep_until(clock_ns() + 200 * NSEC_PER_MSEC);
}

void neighbour(const struct row *row)
{
	atomic_long *rounds = mmap(NULL, sizeof(*rounds), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	pid_t arms, computes;
	long before;

	must(rounds != MAP_FAILED, "memory");
	arms = fork();
	must(arms >= 0, "fork");
	while (!arms) {
		arm(fd, clock_ns() + SOON);
		await(fd);
	}
	computes = fork();
	must(computes >= 0, "fork");
	while (!computes)
		++*rounds;
	must(!task_fifo(0, 99), "priority");
	sleep_until(clock_ns() + 200 * NSEC_PER_MSEC);
	before = *rounds;
	sleep_until(clock_ns() + NSEC_PER_SEC);
	found(row, "rounds", *rounds - before, 1);
	must(!task_fifo(0, 0), "priority");
	kill(arms, SIGKILL);
	kill(computes, SIGKILL);
	waitpid(arms, NULL, 0);
	waitpid(computes, NULL, 0);
	munmap(rounds, sizeof(*rounds));
	close(fd);
}
