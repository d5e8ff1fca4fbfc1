// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rule R4 for timerfds: they rank with the highest of the processes that armed them and of the
 * tasks that read, polled or watched them, by whatever call, for as long as the file is open.
 * A task that is raised while it waits, or whose set others fill, gets them two ticks late at
 * most (R11).
 *
 * Tests of lateness pass on stock, tests of levels fail there, where there are none. With
 * a timer that ranks with the task that armed it, for good, and no tick that expires what
 * is held, all fail but the last: 20 ms late, or the level of an ordinary task.
 *
 * A task that polls without waiting counts, too: it would mask what it polls for.
 */
#define _GNU_SOURCE
#include "lib/shield.h"
#include "lib/situation.h"
#include "lib/timers.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

static int epoll_new(void)
{
	int set = epoll_create1(EPOLL_CLOEXEC);

	require(set >= 0, "epoll_create1: %s", strerror(errno));
	return set;
}

static void epoll_add(int set, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	require(!epoll_ctl(set, EPOLL_CTL_ADD, fd, &event), "epoll_ctl: %s", strerror(errno));
}

static int epoll_await(int set)
{
	struct epoll_event event;

	return epoll_wait(set, &event, 1, -1);
}

static int by_read(int fd)
{
	return 1;
}

/* The inner set has the timerfd before it is put into the outer one, or after. */
static int by_nested_epoll(int fd)
{
	int inner = epoll_new(), outer = epoll_new();

	epoll_add(inner, fd);
	epoll_add(outer, inner);
	return epoll_await(outer);
}

static int by_nested_epoll_last(int fd)
{
	int inner = epoll_new(), outer = epoll_new();

	epoll_add(outer, inner);
	epoll_add(inner, fd);
	return epoll_await(outer);
}

/* poll() of an epoll set: what event loops do that contain each other. */
static int by_poll_of_epoll(int fd)
{
	int set = epoll_new();

	epoll_add(set, fd);
	return by_poll(set);
}

static const struct way {
	const char *name;
	int (*wait)(int fd);
} ways[] = {
	{ "read", by_read },
	{ "poll", by_poll },
	{ "select", by_select },
	{ "epoll", by_epoll },
	{ "nested epoll", by_nested_epoll },
	{ "nested epoll, filled last", by_nested_epoll_last },
	{ "poll of epoll", by_poll_of_epoll },
};

struct timerfd_wait {
	struct situation *s;
	int fd;
	const struct way *way;
	u64 begin;		/* when the waiter begins to wait; 0: before it is armed */
};

static void wait_for_timerfd(void *argument)
{
	struct timerfd_wait *wait = argument;
	u64 count;

	if (wait->begin)
		sleep_until(wait->begin);
	wait->way->wait(wait->fd);
	if (read(wait->fd, &count, sizeof(count)) == sizeof(count))
		wait->s->woke = now();
}

static void arm_timerfd(void *argument)
{
	struct timerfd_wait *wait = argument;

	timerfd_arm(wait->fd, wait->s->expiry, 0);
}

static struct timerfd_wait *new_wait(const struct way *way)
{
	struct timerfd_wait *wait = shared_memory(sizeof(*wait));

	wait->s = situation_new();
	wait->way = way;
	wait->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	require(wait->fd >= 0, "timerfd_create: %s", strerror(errno));
	return wait;
}

/* Armed by an ordinary task. */
static void arm(struct timerfd_wait *wait)
{
	waitpid(spawn(OTHER, test_cpu, arm_timerfd, wait), NULL, 0);
}

/* The waiter comes first. */
static u64 waiter_first(void *argument)
{
	struct timerfd_wait *wait = new_wait(argument);

	await_sleep(spawn(ABOVE, test_cpu, wait_for_timerfd, wait));
	arm(wait);
	return situation_lateness(wait->s);
}

/* It begins to wait 1 ms before the expiry, while the hog runs. */
static u64 waiter_last(void *argument)
{
	struct timerfd_wait *wait = new_wait(argument);

	wait->begin = wait->s->expiry - 1 * MSEC * slowness();
	await_sleep(spawn(ABOVE, test_cpu, wait_for_timerfd, wait));
	arm(wait);
	return situation_lateness(wait->s);
}

static void ranks_with_its_waiter(void)
{
	compare(waiter_first, (void *)&ways[test_argument()], TOLERANCE);
}

TEST_OF(read, ranks_with_its_waiter, 0)
TEST_OF(poll, ranks_with_its_waiter, 1)
TEST_OF(select, ranks_with_its_waiter, 2)
TEST_OF(epoll, ranks_with_its_waiter, 3)
TEST_OF(nested_epoll, ranks_with_its_waiter, 4)
TEST_OF(nested_epoll_filled_last, ranks_with_its_waiter, 5)
TEST_OF(poll_of_epoll, ranks_with_its_waiter, 6)

static void ranks_with_a_late_waiter(void)
{
	compare(waiter_last, (void *)&ways[test_argument()], TOLERANCE);
}

TEST_OF(late_read, ranks_with_a_late_waiter, 0)
TEST_OF(late_poll, ranks_with_a_late_waiter, 1)
TEST_OF(late_select, ranks_with_a_late_waiter, 2)
TEST_OF(late_epoll, ranks_with_a_late_waiter, 3)
TEST_OF(late_nested_epoll, ranks_with_a_late_waiter, 4)
TEST_OF(late_nested_epoll_filled_last, ranks_with_a_late_waiter, 5)
TEST_OF(late_poll_of_epoll, ranks_with_a_late_waiter, 6)

/* An ordinary task waits already when it becomes FIFO 80. */
static u64 waiter_raised(void *argument)
{
	struct timerfd_wait *wait = new_wait(argument);
	pid_t pid = spawn(OTHER, test_cpu, wait_for_timerfd, wait);

	await_sleep(pid);
	arm(wait);
	require(!set_policy(pid, ABOVE), "the waiter cannot be raised");
	return situation_lateness(wait->s);
}

static void follows_a_waiter_that_is_raised(void)
{
	compare(waiter_raised, (void *)&ways[test_argument()], TOLERANCE_HELD);
}

TEST_OF(raised_in_read, follows_a_waiter_that_is_raised, 0)
TEST_OF(raised_in_poll, follows_a_waiter_that_is_raised, 1)
TEST_OF(raised_in_select, follows_a_waiter_that_is_raised, 2)
TEST_OF(raised_in_epoll, follows_a_waiter_that_is_raised, 3)
TEST_OF(raised_in_nested_epoll, follows_a_waiter_that_is_raised, 4)
TEST_OF(raised_in_poll_of_epoll, follows_a_waiter_that_is_raised, 6)

/*
 * FIFO 80 waits for an epoll set already when an ordinary task puts a pending
 * timerfd into it.
 */
struct shared_set {
	struct situation *s;
	int set, fd;
};

static void wait_for_set(void *argument)
{
	struct shared_set *shared = argument;

	epoll_await(shared->set);
	shared->s->woke = now();
}

static void arm_and_add(void *argument)
{
	struct shared_set *shared = argument;

	timerfd_arm(shared->fd, shared->s->expiry, 0);
	epoll_add(shared->set, shared->fd);
}

static struct shared_set *new_shared_set(void)
{
	struct shared_set *shared = shared_memory(sizeof(*shared));

	shared->s = situation_new();
	shared->set = epoll_new();
	shared->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	return shared;
}

static u64 join_while_waiting(void *argument)
{
	struct shared_set *shared = new_shared_set();

	await_sleep(spawn(ABOVE, test_cpu, wait_for_set, shared));
	waitpid(spawn(OTHER, test_cpu, arm_and_add, shared), NULL, 0);
	return situation_lateness(shared->s);
}

TEST(joins_a_set_that_is_waited_for)
{
	compare(join_while_waiting, NULL, TOLERANCE_HELD);
}

/* The same one level further out: FIFO 80 waits for the set of the set. */
static u64 join_nested_while_waiting(void *argument)
{
	struct shared_set *shared = new_shared_set();
	struct shared_set *outer = shared_memory(sizeof(*outer));

	*outer = *shared;
	outer->set = epoll_new();
	epoll_add(outer->set, shared->set);
	await_sleep(spawn(ABOVE, test_cpu, wait_for_set, outer));
	waitpid(spawn(OTHER, test_cpu, arm_and_add, shared), NULL, 0);
	return situation_lateness(shared->s);
}

TEST(joins_a_nested_set_that_is_waited_for)
{
	compare(join_nested_while_waiting, NULL, TOLERANCE_HELD);
}

/* FIFO 20 waits already, then FIFO 80 does. */
static u64 second_waiter(void *argument)
{
	struct shared_set *shared = new_shared_set();
	struct shared_set *low = shared_memory(sizeof(*low));
	struct situation *ignored = shared_memory(sizeof(*ignored));

	*low = *shared;
	low->s = ignored;
	low->set = epoll_new();
	epoll_add(low->set, shared->fd);
	epoll_add(shared->set, shared->fd);
	await_sleep(spawn(FIFO(20), test_cpu, wait_for_set, low));
	timerfd_arm(shared->fd, shared->s->expiry, 0);
	await_sleep(spawn(ABOVE, test_cpu, wait_for_set, shared));
	return situation_lateness(shared->s);
}

TEST(a_second_waiter_raises_it)
{
	compare(second_waiter, NULL, TOLERANCE);
}

/* Levels, with expiries far away. */
#define FAR (3600 * SEC)

static u64 arm_far(struct timerfd_wait *wait)
{
	static u64 number;

	wait->s->expiry = now() + FAR + number++;
	arm(wait);
	return wait->s->expiry;
}

static void stays_when_armed_again(void)
{
	struct timerfd_wait *wait = new_wait(&ways[test_argument()]);
	pid_t pid;

	expect_level("timerfd_tmrproc", arm_far(wait), LEVEL_FAIR, "without a waiter");
	pid = spawn(ABOVE, test_cpu, wait_for_timerfd, wait);
	await_sleep(pid);
	expect_level("timerfd_tmrproc", wait->s->expiry, policy_level(ABOVE),
		     "with a FIFO-80 waiter");
	expect_level("timerfd_tmrproc", arm_far(wait), policy_level(ABOVE), "armed again");
	end_process(pid);
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
	struct timerfd_wait *wait = new_wait(&ways[0]);

	wait->s->expiry = now() + FAR;
	waitpid(spawn(FIFO(33), test_cpu, arm_timerfd, wait), NULL, 0);
	await_sleep(spawn(OTHER, test_cpu, wait_for_timerfd, wait));
	expect_level("timerfd_tmrproc", wait->s->expiry, policy_level(FIFO(33)),
		     "with an ordinary waiter");
}

/* CLOCK_BOOTTIME_ALARM: the same file, another kind of timer behind it. */
static u64 alarm_timerfd(void *argument)
{
	struct timerfd_wait *wait = new_wait(&ways[0]);

	wait->fd = timerfd_create(CLOCK_BOOTTIME_ALARM, TFD_CLOEXEC);
	if (wait->fd < 0)
		skip("timerfd_create(CLOCK_BOOTTIME_ALARM): %s", strerror(errno));
	await_sleep(spawn(ABOVE, test_cpu, wait_for_timerfd, wait));
	arm(wait);
	return situation_lateness(wait->s);
}

struct timerfd_peek {
	struct situation *s;
	bool (*expired)(int fd);
};

static bool peek_read(int fd)
{
	u64 ticks;

	return read(fd, &ticks, sizeof(ticks)) == sizeof(ticks);
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

	if (set < 0) {
		set = epoll_new();
		epoll_add(set, fd);
	}
	return epoll_wait(set, &event, 1, 0) == 1;
}

static bool (*const peeks[])(int fd) = { peek_read, peek_poll, peek_epoll };

/* Arms as an ordinary task, then looks as a real-time one. */
static void arm_and_peek(void *argument)
{
	struct timerfd_peek *peek = argument;
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);

	timerfd_arm(fd, peek->s->expiry, 0);
	become(BELOW);
	while (!peek->s->woke && now() < peek->s->hog_ends)
		if (peek->expired(fd))
			peek->s->woke = now();
}

static u64 peeked(void *argument)
{
	struct timerfd_peek *peek = shared_memory(sizeof(*peek));
	pid_t pid;

	peek->s = situation_new();
	peek->expired = *(bool (*const *)(int fd))argument;
	pid = spawn(OTHER, test_cpu, arm_and_peek, peek);
	waitpid(pid, NULL, 0);
	return (peek->s->woke ?: peek->s->hog_ends) - peek->s->expiry;
}

static void ranks_with_who_peeks(void)
{
	compare(peeked, (void *)&peeks[test_argument()], TOLERANCE);
}

TEST_OF(peek_read, ranks_with_who_peeks, 0)
TEST_OF(peek_poll, ranks_with_who_peeks, 1)
TEST_OF(peek_epoll, ranks_with_who_peeks, 2)

TEST(alarm_ranks_with_its_waiter)
{
	compare(alarm_timerfd, NULL, TOLERANCE);
}

/*
 * The task that armed it is gone when it expires, whatever runs then. Where the task is read after
 * its last reference was dropped, KASAN (debug kernel) reports it.
 */
struct orphans {
	int fd[64];
	u64 expiry;
};

static void arm_and_exit(void *argument)
{
	struct orphans *orphans = argument;

	for (unsigned int i = 0; i < ARRAY_SIZE(orphans->fd); i++)
		timerfd_arm(orphans->fd[i], orphans->expiry + i * 20 * USEC, 0);
}

TEST(outlives_the_task_that_armed_it)
{
	struct orphans *orphans = shared_memory(sizeof(*orphans));
	unsigned int fired = 0;

	pin(test_cpu);
	for (unsigned int i = 0; i < ARRAY_SIZE(orphans->fd); i++)
		orphans->fd[i] = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	for (int round = 0; round < 10; round++) {
		orphans->expiry = now() + 20 * MSEC;
		waitpid(spawn(FIFO(10 + round), test_cpu, arm_and_exit, orphans), NULL, 0);
		become(FIFO(round % 2 ? 5 : 90));
		spin_until(orphans->expiry + 5 * MSEC);
		become(OTHER);
		sleep_for(2 * MSEC);
		for (unsigned int i = 0; i < ARRAY_SIZE(orphans->fd); i++) {
			u64 count = 0;

			if (read(orphans->fd[i], &count, sizeof(count)) > 0)
				fired += count;
		}
	}
	check(fired == 10 * ARRAY_SIZE(orphans->fd), "%u timers fired, %zu were armed", fired,
	      10 * ARRAY_SIZE(orphans->fd));
}
