// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rule R4 for timerfds: they rank with the thread that armed them, and with the tasks that read or
 * poll them, by whatever call, until the second expiry after that. An epoll set ranks with the
 * task that waits for it, and so do the timerfds in it. A task that is raised while it waits gets
 * them two ticks late at most (R11), and so does, with the module, one whose set others fill.
 *
 * Tests of lateness pass on stock, tests of levels and of interruptions fail there. With a timer
 * that ranks with the thread that armed it, and no tick that expires what is held, those of
 * lateness fail: 20 ms late.
 *
 * A task that polls without waiting counts, too: it would mask what it polls for.
 */
#define _GNU_SOURCE
#include "lib/shield.h"
#include "lib/situation.h"
#include "lib/timers.h"
#include "lib/window.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

static int by_read(int fd)
{
	return 1;
}

/* The inner set has the timerfd before it is put into the outer one, or after. */
static int by_nested_epoll(int fd)
{
	return epoll_await(epoll_with(epoll_with(fd)));
}

static int by_nested_epoll_last(int fd)
{
	int inner = epoll_with(-1), outer = epoll_with(inner);

	epoll_add(inner, fd);
	return epoll_await(outer);
}

/* poll() of an epoll set: what event loops do that contain each other. */
static int by_poll_of_epoll(int fd)
{
	return by_poll(epoll_with(fd));
}

/* What the tests' arguments say; 0 of a test that has none. */
static int (*const ways[])(int fd) = {
	by_read, by_poll, by_select, by_epoll, by_nested_epoll, by_nested_epoll_last,
	by_poll_of_epoll,
};

static void wait_and_read(struct situation *s, int fd)
{
	ways[test_argument()](fd);
	if (timerfd_await(fd))
		woken(s);
}

static void ranks_with_its_waiter(void)
{
	COMPARE(s, TOLERANCE) {
		int fd = timerfd_new(CLOCK_MONOTONIC, 0);

		ASLEEP(ABOVE) wait_and_read(s, fd);
		ENDED(OTHER) timerfd_arm(fd, s->expiry, 0);
	}
}

TEST_OF(read, ranks_with_its_waiter, 0)
TEST_OF(poll, ranks_with_its_waiter, 1)
TEST_OF(select, ranks_with_its_waiter, 2)
TEST_OF(epoll, ranks_with_its_waiter, 3)
TEST_OF(nested_epoll, ranks_with_its_waiter, 4)
TEST_OF(nested_epoll_filled_last, ranks_with_its_waiter, 5)
TEST_OF(poll_of_epoll, ranks_with_its_waiter, 6)

/* It begins to wait 1 ms before the expiry, while the hog runs. */
static void ranks_with_a_late_waiter(void)
{
	COMPARE(s, TOLERANCE) {
		int fd = timerfd_new(CLOCK_MONOTONIC, 0);

		ASLEEP(ABOVE) {
			sleep_until(s->expiry - 1 * MSEC * slowness());
			wait_and_read(s, fd);
		}
		ENDED(OTHER) timerfd_arm(fd, s->expiry, 0);
	}
}

TEST_OF(late_read, ranks_with_a_late_waiter, 0)
TEST_OF(late_poll, ranks_with_a_late_waiter, 1)
TEST_OF(late_select, ranks_with_a_late_waiter, 2)
TEST_OF(late_epoll, ranks_with_a_late_waiter, 3)
TEST_OF(late_nested_epoll, ranks_with_a_late_waiter, 4)
TEST_OF(late_nested_epoll_filled_last, ranks_with_a_late_waiter, 5)
TEST_OF(late_poll_of_epoll, ranks_with_a_late_waiter, 6)

/* An ordinary task waits already when it becomes FIFO 80. */
static void follows_a_waiter_that_is_raised(void)
{
	COMPARE(s, TOLERANCE_HELD) {
		int fd = timerfd_new(CLOCK_MONOTONIC, 0);
		pid_t waiter;

		ASLEEP(OTHER) wait_and_read(s, fd);
		waiter = newest;
		ENDED(OTHER) timerfd_arm(fd, s->expiry, 0);
		require(!set_policy(waiter, ABOVE), "the waiter cannot be raised");
	}
}

TEST_OF(raised_in_read, follows_a_waiter_that_is_raised, 0)
TEST_OF(raised_in_poll, follows_a_waiter_that_is_raised, 1)
TEST_OF(raised_in_select, follows_a_waiter_that_is_raised, 2)
TEST_OF(raised_in_epoll, follows_a_waiter_that_is_raised, 3)
TEST_OF(raised_in_nested_epoll, follows_a_waiter_that_is_raised, 4)
TEST_OF(raised_in_poll_of_epoll, follows_a_waiter_that_is_raised, 6)

/* The module does not see who waits for an epoll set. */
#define TOLERANCE_SET (shield_is_module() ? TOLERANCE_HELD : TOLERANCE)

static void wait_for_set(struct situation *s, int set)
{
	epoll_await(set);
	woken(s);
}

/*
 * An ordinary task puts a pending timerfd into an epoll set. FIFO 80 waits already, for this set or
 * for one that holds it.
 */
static void joins_what_is_waited_for(void)
{
	COMPARE(s, TOLERANCE_SET) {
		int fd = timerfd_new(CLOCK_MONOTONIC, 0), set = epoll_with(-1);
		int outer = test_argument() ? epoll_with(set) : set;

		ASLEEP(ABOVE) wait_for_set(s, outer);
		ENDED(OTHER) {
			timerfd_arm(fd, s->expiry, 0);
			epoll_add(set, fd);
		}
	}
}

TEST_OF(joins_a_set_that_is_waited_for, joins_what_is_waited_for, 0)
TEST_OF(joins_a_nested_set_that_is_waited_for, joins_what_is_waited_for, 1)

/* FIFO 80 waits for a set all the time. An ordinary task that began to wait later gets its events. */
TEST(is_of_a_set_for_which_others_wait_too)
{
	COMPARE(s, TOLERANCE_SET) {
		int fd = timerfd_new(CLOCK_MONOTONIC, TFD_NONBLOCK), set = epoll_with(-1);
		struct epoll_event event = { .events = EPOLLIN | EPOLLET };

		require(!epoll_ctl(set, EPOLL_CTL_ADD, fd, &event), "epoll_ctl: %m");
		ASLEEP(ABOVE) wait_for_set(s, set);
		ENDED(OTHER) {
			for (int i = 0; i < 2; i++) {
				timerfd_arm(fd, now() + 200 * USEC, 0);
				epoll_await(set);
			}
			timerfd_arm(fd, s->expiry, 0);
		}
	}
}

/* It expires unseen, twice, before an ordinary task asks the set for its events again. */
TEST(is_asked_for_again_in_a_set_that_is_waited_for)
{
	COMPARE(s, TOLERANCE_SET) {
		int fd = timerfd_new(CLOCK_MONOTONIC, TFD_NONBLOCK), set = epoll_with(-1);
		struct epoll_event none = { .events = 0 }, event = { .events = EPOLLIN };

		require(!epoll_ctl(set, EPOLL_CTL_ADD, fd, &none), "epoll_ctl: %m");
		ASLEEP(ABOVE) wait_for_set(s, set);
		ENDED(OTHER) {
			for (int i = 0; i < 2; i++) {
				timerfd_arm(fd, now() + 200 * USEC, 0);
				sleep_for(500 * USEC);
				timerfd_await(fd);
			}
			require(!epoll_ctl(set, EPOLL_CTL_MOD, fd, &event), "epoll_ctl: %m");
			timerfd_arm(fd, s->expiry, 0);
		}
	}
}

static bool finds_nothing(int set)
{
	struct pollfd event = { .fd = set, .events = POLLIN };
	struct epoll_event found;

	return !(test_argument() ? poll(&event, 1, 0) : epoll_wait(set, &found, 1, 0));
}

/* It has expired, is armed again, and an ordinary task asks the set in vain. Then FIFO 80 waits. */
static void is_asked_for_in_vain(void)
{
	COMPARE(s, TOLERANCE_SET) {
		int fd = timerfd_new(CLOCK_MONOTONIC, 0), set = epoll_with(fd);

		ENDED(ABOVE) require(finds_nothing(set), "not armed, but readable");
		ENDED(OTHER) {
			for (int i = 0; i < 2; i++) {
				timerfd_arm(fd, now() + 200 * USEC, 0);
				sleep_for(500 * USEC);
				timerfd_arm(fd, s->expiry, 0);
				require(finds_nothing(set), "armed again, but readable");
			}
		}
		ASLEEP(ABOVE) wait_for_set(s, set);
	}
}

TEST_OF(is_waited_for_in_vain, is_asked_for_in_vain, 0)
TEST_OF(is_polled_in_vain, is_asked_for_in_vain, 1)

/* An ordinary task polls the inner set of one for which FIFO 80 waits, and finds nothing. */
TEST(joins_a_nested_set_that_others_poll)
{
	COMPARE(s, TOLERANCE_SET) {
		int fd = timerfd_new(CLOCK_MONOTONIC, 0), inner = epoll_with(-1);
		int set = epoll_with(inner);

		ASLEEP(ABOVE) wait_for_set(s, set);
		ENDED(OTHER) {
			struct epoll_event event;

			for (int i = 0; i < 2; i++)
				epoll_wait(inner, &event, 1, 0);
			timerfd_arm(fd, s->expiry, 0);
			epoll_add(inner, fd);
		}
	}
}

/* Ordinary tasks fill a set, or one in a set, and arm what is in it, before FIFO 80 waits for it. */
static void ranks_with_the_first_waiter_of_its_set(void)
{
	COMPARE(s, TOLERANCE_SET) {
		int fd = timerfd_new(CLOCK_MONOTONIC, 0), inner = epoll_with(-1);
		int set = test_argument() ? epoll_with(inner) : inner;

		ENDED(OTHER) {
			epoll_add(inner, fd);
			timerfd_arm(fd, s->expiry, 0);
		}
		ASLEEP(ABOVE) wait_for_set(s, set);
	}
}

TEST_OF(a_first_wait_raises_a_set, ranks_with_the_first_waiter_of_its_set, 0)
TEST_OF(a_first_wait_raises_a_nested_set, ranks_with_the_first_waiter_of_its_set, 1)

/* FIFO 20 waits already, then FIFO 80 does. */
TEST(a_second_waiter_raises_it)
{
	COMPARE(s, TOLERANCE) {
		int fd = timerfd_new(CLOCK_MONOTONIC, 0);
		int low = epoll_with(fd), high = epoll_with(fd);

		ASLEEP(FIFO(20)) epoll_await(low);
		timerfd_arm(fd, s->expiry, 0);
		ASLEEP(ABOVE) wait_for_set(s, high);
	}
}

/* Levels, with expiries far away. */
#define FAR (3600 * SEC)

/* An ordinary task arms FD for an expiry that no other timer has. */
static u64 arm_far(int fd)
{
	static u64 number;
	u64 expiry = now() + FAR + number++;

	ENDED(OTHER) timerfd_arm(fd, expiry, 0);
	return expiry;
}

static void stays_when_armed_again(void)
{
	struct situation *s = situation_new();
	int fd = timerfd_new(CLOCK_MONOTONIC, 0);
	u64 expiry = arm_far(fd);

	expect_level("timerfd_tmrproc", expiry, LEVEL_FAIR, "without a waiter");
	ASLEEP(ABOVE) wait_and_read(s, fd);
	expect_level("timerfd_tmrproc", expiry, policy_level(ABOVE), "with a FIFO-80 waiter");
	expect_level("timerfd_tmrproc", arm_far(fd), policy_level(ABOVE), "armed again");
}

TEST_OF(stays_after_read, stays_when_armed_again, 0)
TEST_OF(stays_after_poll, stays_when_armed_again, 1)
TEST_OF(stays_after_select, stays_when_armed_again, 2)
TEST_OF(stays_after_epoll, stays_when_armed_again, 3)
TEST_OF(stays_after_nested_epoll, stays_when_armed_again, 4)
TEST_OF(stays_after_poll_of_epoll, stays_when_armed_again, 6)

/* A waiter that ranks lower than the task that armed it changes nothing. */
TEST(lower_waiter_does_not_lower_it)
{
	struct situation *s = situation_new();
	int fd = timerfd_new(CLOCK_MONOTONIC, 0);
	u64 expiry = now() + FAR;

	ENDED(FIFO(33)) timerfd_arm(fd, expiry, 0);
	ASLEEP(OTHER) wait_and_read(s, fd);
	expect_level("timerfd_tmrproc", expiry, policy_level(FIFO(33)), "with an ordinary waiter");
}

/* Timerfds one after the other, next to a task that spins and outranks them */
#define MANY 50
#define GRID (20 * USEC)

struct many {
	u64 first;
	bool armed;
};

static void arm_many(struct many *many, const int *fds)
{
	for (unsigned int i = 0; i < MANY; i++)
		timerfd_arm(fds[i], many->first + i * GRID, 0);
	set_true(&many->armed);
	pause();
}

static void *arm_as_ordinary_thread(void *many)
{
	int fds[MANY];

	become(OTHER);
	for (unsigned int i = 0; i < MANY; i++)
		fds[i] = timerfd_new(CLOCK_MONOTONIC, 0);
	arm_many(many, fds);
	return NULL;
}

static void start_ordinary_thread(struct many *many)
{
	thread_new(arm_as_ordinary_thread, many);
}

/* A FIFO-95 task looks at its timerfds, and is an ordinary one when they have expired twice. */
static void start_former_real_time_task(struct many *many)
{
	STARTED(FIFO(95)) {
		int fds[MANY];

		for (unsigned int i = 0; i < MANY; i++) {
			fds[i] = timerfd_new(CLOCK_MONOTONIC, TFD_NONBLOCK);
			timerfd_await(fds[i]);
		}
		become(OTHER);
		for (int round = 0; round < 2; round++) {
			for (unsigned int i = 0; i < MANY; i++)
				timerfd_arm(fds[i], now() + MSEC, 0);
			sleep_for(5 * MSEC);
		}
		arm_many(many, fds);
	}
}

static void (*const starts[])(struct many *many) = {
	start_ordinary_thread, start_former_real_time_task,
};

static void spin_over_many(struct window *window)
{
	struct many *many = shared_memory(sizeof(*many));

	pin(test_cpu);
	become(FIFO(90));
	window_prepare();
	many->first = now() + 60 * MSEC;
	starts[test_argument()](many);
	await_true(&many->armed);
	require(now() < many->first, "armed too late");
	sleep_until(many->first - 100 * USEC);
	window_spin(window, many->first + (MANY + 1) * GRID);
	window_read(window);
	sleep_for(20 * MSEC);
}

static void do_not_interrupt(void)
{
	check_masked(spin_over_many, "timerfds of an ordinary thread");
}

TEST_OF(ordinary_threads_of_its_process_do_not_interrupt, do_not_interrupt, 0)
TEST_OF(a_look_does_not_last_for_ever, do_not_interrupt, 1)

static bool peek_read(int fd)
{
	return timerfd_await(fd);
}

static bool peek_poll(int fd)
{
	struct pollfd event = { .fd = fd, .events = POLLIN };

	return poll(&event, 1, 0) == 1;
}

static bool peek_epoll(int fd)
{
	static int set = -1;
	struct epoll_event event;

	if (set < 0)
		set = epoll_with(fd);
	return epoll_wait(set, &event, 1, 0) == 1;
}

static bool (*const peeks[])(int fd) = { peek_read, peek_poll, peek_epoll };

/* Armed by an ordinary task, which then looks as a real-time one. */
static void ranks_with_who_peeks(void)
{
	COMPARE(s, TOLERANCE) {
		ENDED(OTHER) {
			int fd = timerfd_new(CLOCK_MONOTONIC, TFD_NONBLOCK);

			timerfd_arm(fd, s->expiry, 0);
			become(BELOW);
			while (!s->woke && now() < s->hog_ends)
				if (peeks[test_argument()](fd))
					woken(s);
		}
		s->late = (s->woke ?: s->hog_ends) - s->expiry;
	}
}

TEST_OF(peek_read, ranks_with_who_peeks, 0)
TEST_OF(peek_poll, ranks_with_who_peeks, 1)
TEST_OF(peek_epoll, ranks_with_who_peeks, 2)

/* CLOCK_BOOTTIME_ALARM: the same file, another kind of timer behind it. */
TEST(alarm_ranks_with_its_waiter)
{
	COMPARE(s, TOLERANCE) {
		int fd = timerfd_create(CLOCK_BOOTTIME_ALARM, 0);

		if (fd < 0)
			skip("timerfd_create(CLOCK_BOOTTIME_ALARM): %m");
		ASLEEP(ABOVE) wait_and_read(s, fd);
		ENDED(OTHER) timerfd_arm(fd, s->expiry, 0);
	}
}

/*
 * The task that armed it is gone when it expires, whatever runs then. Where the task is read after
 * its last reference was dropped, KASAN (debug kernel) reports it.
 */
TEST(outlives_the_task_that_armed_it)
{
	u64 fired = 0;
	int fds[64];

	pin(test_cpu);
	for (unsigned int i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = timerfd_new(CLOCK_MONOTONIC, TFD_NONBLOCK);
	for (int round = 0; round < 10; round++) {
		u64 expiry = now() + 20 * MSEC;

		ENDED(FIFO(10 + round))
			for (unsigned int i = 0; i < ARRAY_SIZE(fds); i++)
				timerfd_arm(fds[i], expiry + i * 20 * USEC, 0);
		become(FIFO(round % 2 ? 5 : 90));
		spin_until(expiry + 5 * MSEC);
		become(OTHER);
		sleep_for(2 * MSEC);
		for (unsigned int i = 0; i < ARRAY_SIZE(fds); i++)
			fired += timerfd_await(fds[i]);
	}
	check(fired == 10 * ARRAY_SIZE(fds), "%llu timers fired, %zu were armed", fired,
	      10 * ARRAY_SIZE(fds));
}
