// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rules R1 and R4 for io_uring: its timeouts rank with the thread that submits them, which runs
 * their completion, too, so that those of ordinary threads do not interrupt a real-time task. If
 * that thread rises afterwards, this costs two ticks at most. What io_uring_enter() waits for itself
 * follows like a sleep.
 *
 * On stock, and where they are taken for timers of the kernel, 500 of them interrupt FIFO 99
 * hundreds of times.
 */
#define _GNU_SOURCE
#include "lib/shield.h"
#include "lib/situation.h"
#include "lib/timers.h"
#include "lib/uring.h"
#include "lib/window.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* Opens a ring and arms a timeout on it; the situation begins then. */
static void arm(struct uring *ring, struct situation *s)
{
	int ret = uring_open(ring);

	situation_start(s, LEAD);
	if (!ret)
		ret = uring_arm(ring, s->expiry);
	require(!ret, "io_uring: %s", strerror(-ret));
}

static void ranks_with_who_waits_or_polls(void)
{
	COMPARE(s, TOLERANCE_HELD) {
		ASLEEP(OTHER) {
			struct uring ring;

			arm(&ring, s);
			become(ABOVE);
			if (test_argument())
				by_poll(ring.fd);
			if (!uring_await(&ring))
				woken(s);
		}
	}
}

TEST_OF(ranks_with_who_waits, ranks_with_who_waits_or_polls, false)
TEST_OF(ranks_with_who_polls, ranks_with_who_waits_or_polls, true)

TEST(follows_who_waits)
{
	COMPARE(s, TOLERANCE_HELD) {
		ASLEEP(OTHER) {
			struct uring ring;

			arm(&ring, s);
			if (!uring_await(&ring))
				woken(s);
		}
		require(!set_policy(newest, ABOVE), "the waiter cannot be raised");
	}
}

/* An ordinary process, without other timers, looks for the completion in memory. */
TEST(ranks_with_who_peeks)
{
	COMPARE(s, TOLERANCE) {
		ENDED(OTHER) {
			struct uring ring;

			arm(&ring, s);
			while (!s->woke && now() < s->hog_ends)
				if (__atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE) != *ring.cq_head)
					woken(s);
		}
		s->late = (s->woke ?: s->hog_ends) - s->expiry;
	}
}

/*
 * An ordinary thread submits in a process that has a FIFO-80 one. The completion runs in the thread
 * that submitted, on stock too: the level tells more than the lateness.
 */
#define FAR (3600 * SEC)

static void *wait_for_ever(void *barrier)
{
	become(ABOVE);
	pthread_barrier_wait(barrier);
	pause();
	return NULL;
}

TEST(ranks_with_the_thread_that_submits)
{
	pthread_barrier_t *armed = barrier_new(), *risen = barrier_new();
	u64 expiry = now() + FAR;

	pin(test_cpu);
	become(FIFO(99));
	STARTED(OTHER) {
		struct uring ring;
		int ret = uring_open(&ring);

		require(!ret, "io_uring: %s", strerror(-ret));
		thread_new(wait_for_ever, risen);
		pthread_barrier_wait(risen);
		ret = uring_arm(&ring, expiry);
		require(!ret, "io_uring: %s", strerror(-ret));
		pthread_barrier_wait(armed);
		pause();
	}
	pthread_barrier_wait(armed);
	expect_level("io_timeout_fn", expiry, LEVEL_FAIR, "in a process with a FIFO-80 thread");
}

/* One unprivileged process, timeouts one after the other within 10 ms, below FIFO 99 */
#define TIMEOUTS 500

static int (*const arms[])(struct uring *ring, u64 expiry) = { uring_arm, uring_arm_link };

static void spin_over_many(struct window *window)
{
	pthread_barrier_t *armed = barrier_new();
	u64 first;

	pin(test_cpu);
	become(FIFO(99));
	window_prepare();
	first = now() + 60 * MSEC;
	STARTED(OTHER) {
		struct uring ring;
		int ret = uring_open(&ring);

		become_nobody();
		for (unsigned int i = 0; !ret && i < TIMEOUTS; i++)
			ret = arms[test_argument()](&ring, first + i * 20 * USEC);
		require(!ret, "io_uring: %s", strerror(-ret));
		pthread_barrier_wait(armed);
		pause();
	}
	pthread_barrier_wait(armed);
	require(now() < first, "armed too late");
	sleep_until(first - 100 * USEC);
	window_spin(window, first + (TIMEOUTS + 1) * 20 * USEC);
	window_read(window);
	sleep_for(50 * MSEC);
	end_process(newest);
}

static void many_do_not_interrupt(void)
{
	check_masked(spin_over_many, "500 timeouts");
}

TEST_OF(timeouts_do_not_interrupt, many_do_not_interrupt, 0)
TEST_OF(linked_timeouts_do_not_interrupt, many_do_not_interrupt, 1)

/* What io_uring_enter() waits for itself is a sleep like others. */
static void spin_over_a_wait(struct window *window)
{
	bool *ended = shared_memory(sizeof(*ended));
	u64 expiry;

	pin(test_cpu);
	become(FIFO(99));
	window_prepare();
	expiry = now() + 20 * MSEC;
	ASLEEP(OTHER) {
		struct uring ring;
		int ret = uring_open(&ring);

		become_nobody();
		if (!ret)
			ret = uring_wait(&ring, expiry - now());
		check(ret == -ETIME, "io_uring_enter: %s", strerror(-ret));
		*ended = true;
	}
	sleep_until(expiry - MSEC);
	window_spin(window, expiry + MSEC);
	window_read(window);
	sleep_for(20 * MSEC);
	check(*ended, "io_uring_enter() does not end");
}

/* An ordinary task waits in io_uring_enter() when it becomes FIFO 80. */
TEST(a_wait_that_is_raised_is_on_time)
{
	COMPARE(s, TOLERANCE) {
		ASLEEP(OTHER) {
			struct uring ring;
			int ret = uring_open(&ring);

			if (!ret)
				ret = uring_wait(&ring, s->expiry - now());
			check(ret == -ETIME, "io_uring_enter: %s", strerror(-ret));
			woken(s);
		}
		require(!set_policy(newest, ABOVE), "the waiter cannot be raised");
	}
}

TEST(a_wait_does_not_interrupt)
{
	check_masked(spin_over_a_wait, "a wait in io_uring_enter()");
}
