// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rule R4: a timer has the class of the thread that arms it. So timers of ordinary threads do not
 * interrupt a real-time task, whatever process they are of, and an unprivileged process cannot lift
 * its own. Two exceptions: a timerfd that a real-time task has read or polled is real-time from then
 * on, and so is a signal timer of a process that has had a real-time thread.
 *
 * The tests of masking fail on stock. Those of the exceptions fail where all timers of ordinary
 * threads are masked.
 */
#define _GNU_SOURCE
#include "lib/shield.h"
#include "lib/task.h"
#include "lib/timers.h"
#include "lib/uring.h"
#include "lib/window.h"

#include <errno.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#define MANY 50
#define GRID (20 * USEC)

/* Timers one after the other, next to FIFO 90, which spins */
struct many {
	u64 first;
	bool armed;
	void (*arm)(const struct many *many, int *fds);
};

static void arm_timerfds(const struct many *many, int *fds)
{
	for (unsigned int i = 0; i < MANY; i++)
		timerfd_arm(fds[i], many->first + i * GRID, 0);
}

static void make_timerfds(int *fds)
{
	for (unsigned int i = 0; i < MANY; i++)
		fds[i] = timerfd_new(CLOCK_MONOTONIC, TFD_NONBLOCK);
}

static void await_end(struct many *many)
{
	set_true(&many->armed);
	pause();
}

static void *arm_as_ordinary_thread(void *argument)
{
	struct many *many = argument;
	int fds[MANY];

	become(OTHER);
	make_timerfds(fds);
	arm_timerfds(many, fds);
	await_end(many);
	return NULL;
}

/* A thread of the process whose other thread is FIFO 90 */
static void thread_of_the_same_process(struct many *many)
{
	thread_new(arm_as_ordinary_thread, many);
}

static void *poll_it(void *argument)
{
	by_poll(*(int *)argument);
	return NULL;
}

/* An unprivileged process waits for its timerfds in every way that it has. */
static void waiters_of_its_own(struct many *many)
{
	STARTED(OTHER) {
		aio_context_t context = 0;
		struct iocb request = { .aio_lio_opcode = IOCB_CMD_POLL, .aio_buf = POLLIN };
		struct iocb *requests[] = { &request };
		int fds[MANY];

		become_nobody();
		make_timerfds(fds);
		require(!syscall(SYS_io_setup, MANY, &context), "io_setup: %m");
		for (unsigned int i = 0; i < MANY; i++) {
			request.aio_fildes = fds[i];
			require(syscall(SYS_io_submit, context, 1, requests) == 1, "io_submit: %m");
			epoll_with(epoll_with(fds[i]));
			thread_new(poll_it, &fds[i]);
		}
		arm_timerfds(many, fds);
		await_end(many);
	}
}

static int (*const uring_arms[])(struct uring *ring, u64 expiry) = { uring_arm, uring_arm_link };

static void timeouts_of_a_ring(struct many *many)
{
	STARTED(OTHER) {
		struct uring ring;
		int ret = uring_open(&ring);

		become_nobody();
		for (unsigned int i = 0; !ret && i < MANY; i++)
			ret = uring_arms[i % 2](&ring, many->first + i * GRID);
		require(!ret, "io_uring: %s", strerror(-ret));
		await_end(many);
	}
}

static void wait_at_a_ring(struct many *many)
{
	STARTED(OTHER) {
		struct uring ring;
		int ret = uring_open(&ring);

		become_nobody();
		require(!ret, "io_uring: %s", strerror(-ret));
		set_true(&many->armed);
		ret = uring_wait(&ring, many->first + GRID - now());
		check(ret == -ETIME, "io_uring_enter: %s", strerror(-ret));
		pause();
	}
}

static void arm_signal_timers(struct many *many)
{
	struct rlimit signals = { 2 * MANY, 2 * MANY };

	block_signal(SIGRTMIN);
	require(!setrlimit(RLIMIT_SIGPENDING, &signals), "setrlimit: %m");
	for (unsigned int i = 0; i < MANY; i++)
		posix_timer_arm(SIGEV_SIGNAL, 0, many->first + i * GRID, 0);
	await_end(many);
}

static void signal_timers(struct many *many)
{
	STARTED(OTHER) arm_signal_timers(many);
}

/* "chrt -o": the only thread is an ordinary one again. */
static void signal_timers_of_one_that_was_real_time(struct many *many)
{
	STARTED(FIFO(20)) {
		become(OTHER);
		arm_signal_timers(many);
	}
}

/* Their callbacks arm them again. The first expiry was never masked, all others are. */
static void timers_of_an_ignored_signal(struct many *many)
{
	STARTED(OTHER) {
		signal(SIGRTMIN, SIG_IGN);
		for (unsigned int i = 0; i < MANY; i++) {
			posix_timer_new(i % 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME, SIGEV_SIGNAL, 0, 1,
					USEC);
			spin_until(now() + TICK / MANY);
		}
		set_true(&many->armed);
		/* Those of the play with the shield off end with it. */
		sleep_until(many->first + 5 * MSEC);
	}
}

static void play(struct window *window, void (*start)(struct many *many))
{
	struct many *many = shared_memory(sizeof(*many));

	pin(test_cpu);
	become(FIFO(90));
	window_prepare();
	many->first = now() + 60 * MSEC;
	start(many);
	await_true(&many->armed);
	require(now() < many->first, "armed too late");
	sleep_until(many->first - 100 * USEC);
	window_spin(window, many->first + (MANY + 1) * GRID);
	window_read(window);
	sleep_for(20 * MSEC);
}

static void (*const masked[])(struct many *many) = {
	thread_of_the_same_process, waiters_of_its_own, timeouts_of_a_ring, wait_at_a_ring,
	signal_timers, signal_timers_of_one_that_was_real_time, timers_of_an_ignored_signal,
};

static void play_masked(struct window *window)
{
	play(window, masked[test_argument()]);
}

static void does_not_interrupt(void)
{
	check_masked(play_masked, "timers of an ordinary thread");
}

TEST_OF(ordinary_threads_of_its_process_do_not_interrupt, does_not_interrupt, 0)
TEST_OF(waiters_of_its_own_do_not_lift_a_timerfd, does_not_interrupt, 1)
TEST_OF(timeouts_of_a_ring_do_not_interrupt, does_not_interrupt, 2)
TEST_OF(a_wait_at_a_ring_does_not_interrupt, does_not_interrupt, 3)
TEST_OF(signal_timers_do_not_interrupt, does_not_interrupt, 4)
TEST_OF(signal_timers_fall_with_their_only_thread, does_not_interrupt, 5)

static void ignored_signals(void)
{
	struct utsname name;

	require(!uname(&name), "uname: %m");
	if (strverscmp(name.release, "6.13") >= 0)
		skip("the kernel stops timers whose signal is ignored");
	does_not_interrupt();
}

TEST_OF(timers_of_an_ignored_signal_do_not_interrupt, ignored_signals, 6)

/* FIFO 95 has read its timerfds once, or polled them, and is an ordinary task when it arms them. */
static void timerfds_that_real_time_has_seen(struct many *many)
{
	STARTED(FIFO(95)) {
		int fds[MANY];

		make_timerfds(fds);
		for (unsigned int i = 0; i < MANY; i++) {
			struct pollfd event = { .fd = fds[i], .events = POLLIN };

			if (i % 2)
				poll(&event, 1, 0);
			else
				timerfd_await(fds[i]);
		}
		become(OTHER);
		for (unsigned int round = 0; round < 2; round++) {
			/* Closer together 7.3 may take them for a hang, and pause for long. */
			for (unsigned int i = 0; i < MANY; i++) {
				timerfd_arm(fds[i], now() + MSEC, 0);
				spin_until(now() + GRID);
			}
			sleep_for(5 * MSEC);
		}
		arm_timerfds(many, fds);
		await_end(many);
	}
}

/*
 * A thread of the process was raised while it waited, and has not run since. The process was born
 * FIFO 90: its first timer shows that its only thread is an ordinary task now.
 */
static void signal_timers_of_one_with_a_real_time_thread(struct many *many)
{
	STARTED(OTHER) {
		pthread_t thread;

		posix_timer_arm(SIGEV_SIGNAL, 0, many->first + SEC, 0);
		thread = thread_new(poll_it, &(int){ epoll_with(-1) });
		sleep_for(MSEC);
		pthread_setschedparam(thread, SCHED_FIFO,
				      &(struct sched_param){ .sched_priority = 95 });
		arm_signal_timers(many);
	}
}

static void signal_timers_of_one_born_real_time(struct many *many)
{
	STARTED(FIFO(95)) {
		/* No thread of the child sets a real-time policy. */
		if (fork())
			pause();
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		thread_new(poll_it, &(int){ epoll_with(-1) });
		become(OTHER);
		arm_signal_timers(many);
	}
}

static void (*const lifted[])(struct many *many) = {
	timerfds_that_real_time_has_seen, signal_timers_of_one_with_a_real_time_thread,
	signal_timers_of_one_born_real_time,
};

static void interrupts(void)
{
	struct window *window = shared_memory(sizeof(*window));

	needs_a_fast_kernel();
	if (test_argument() && shield_has_levels())
		skip("by levels a signal timer ranks with the thread that arms it");
	if (kernel_is_rt())
		skip("timerfds and POSIX timers expire in a thread");
	play(window, lifted[test_argument()]);
	measured(window->expired >= MANY / 2, "%u timers expired while FIFO 90 ran", window->expired);
}

TEST_OF(a_timerfd_that_real_time_has_seen_is_on_time, interrupts, 0)
TEST_OF(signal_timers_of_a_real_time_process_are_on_time, interrupts, 1)
TEST_OF(signal_timers_of_a_process_born_real_time_are_on_time, interrupts, 2)
