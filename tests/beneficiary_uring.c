// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rules R1 and R4 for io_uring: its timeouts rank with the highest thread of the process that
 * submits them, so that those of ordinary processes do not interrupt a real-time task, and one
 * that a real-time thread waits for is on time. What rises afterwards costs two ticks at most.
 *
 * On stock, and where they are taken for timers of the kernel, 500 of them interrupt FIFO 99
 * hundreds of times.
 */
#define _GNU_SOURCE
#include "lib/shield.h"
#include "lib/situation.h"
#include "lib/uring.h"
#include "lib/window.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the waiter does between arming its timeout and waiting for it */
struct uring_wait {
	struct situation *s;
	bool polls;		/* waits with poll() */
	bool raised_first;	/* becomes FIFO 80 before it waits; else somebody else does that */
};

static void arm_and_wait(void *argument)
{
	struct uring_wait *wait = argument;
	struct uring ring;
	int ret = uring_open(&ring);

	situation_start(wait->s, LEAD);
	if (!ret)
		ret = uring_arm(&ring, wait->s->expiry);
	require(!ret, "io_uring: %s", strerror(-ret));
	if (wait->raised_first)
		become(ABOVE);
	if (wait->polls)
		poll(&(struct pollfd){ .fd = ring.fd, .events = POLLIN }, 1, -1);
	if (!uring_await(&ring))
		wait->s->woke = now();
}

static struct uring_wait *new_wait(void)
{
	struct uring_wait *wait = shared_memory(sizeof(*wait));

	wait->s = situation_new();
	return wait;
}

static u64 raised_first(void *argument)
{
	struct uring_wait *wait = new_wait();

	wait->raised_first = true;
	wait->polls = *(bool *)argument;
	await_sleep(spawn(OTHER, test_cpu, arm_and_wait, wait));
	return situation_lateness(wait->s);
}

static u64 raised_while_it_waits(void *argument)
{
	struct uring_wait *wait = new_wait();
	pid_t pid = spawn(OTHER, test_cpu, arm_and_wait, wait);

	await_sleep(pid);
	require(!set_policy(pid, ABOVE), "the waiter cannot be raised");
	return situation_lateness(wait->s);
}

TEST(ranks_with_who_waits)
{
	bool polls = false;

	compare(raised_first, &polls, TOLERANCE_HELD);
}

TEST(ranks_with_who_polls)
{
	bool polls = true;

	compare(raised_first, &polls, TOLERANCE_HELD);
}

TEST(follows_who_waits)
{
	compare(raised_while_it_waits, NULL, TOLERANCE_HELD);
}

/* An ordinary process, without other timers, looks for the completion in memory. */
static void arm_and_peek(void *argument)
{
	struct situation *s = argument;
	struct uring ring;
	int ret = uring_open(&ring);

	situation_start(s, LEAD);
	if (!ret)
		ret = uring_arm(&ring, s->expiry);
	require(!ret, "io_uring: %s", strerror(-ret));
	while (!s->woke && now() < s->hog_ends)
		if (__atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE) != *ring.cq_head)
			s->woke = now();
}

static u64 peeked(void *argument)
{
	struct situation *s = situation_new();

	waitpid(spawn(OTHER, test_cpu, arm_and_peek, s), NULL, 0);
	return (s->woke ?: s->hog_ends) - s->expiry;
}

TEST(ranks_with_its_process)
{
	compare(peeked, NULL, TOLERANCE);
}

/*
 * An ordinary thread submits in a process that has a FIFO-80 one. The completion runs in the thread
 * that submitted, on stock too: the level tells more than the lateness.
 */
#define FAR (3600 * SEC)

struct shared_ring {
	u64 expiry;
	pid_t thread;
	bool armed;
};

static void *wait_for_ever(void *argument)
{
	struct shared_ring *shared = argument;

	become(ABOVE);
	__atomic_store_n(&shared->thread, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	pause();
	return NULL;
}

static void submit_for_thread(void *argument)
{
	struct shared_ring *shared = argument;
	struct uring ring;
	int ret = uring_open(&ring);
	pthread_t thread;

	require(!ret, "io_uring: %s", strerror(-ret));
	require(!pthread_create(&thread, NULL, wait_for_ever, shared), "no thread");
	while (!__atomic_load_n(&shared->thread, __ATOMIC_ACQUIRE))
		sleep_for(200 * USEC);
	ret = uring_arm(&ring, shared->expiry);
	require(!ret, "io_uring: %s", strerror(-ret));
	shared->armed = true;
	pause();
}

TEST(ranks_with_the_highest_thread)
{
	struct shared_ring *shared = shared_memory(sizeof(*shared));

	pin(test_cpu);
	become(FIFO(99));
	shared->expiry = now() + FAR;
	spawn(OTHER, test_cpu, submit_for_thread, shared);
	while (!__atomic_load_n(&shared->armed, __ATOMIC_ACQUIRE))
		sleep_for(200 * USEC);
	expect_level("io_timeout_fn", shared->expiry, policy_level(ABOVE),
		     "in a process with a FIFO-80 thread");
}

/* One unprivileged process, timeouts one after the other within 10 ms, below FIFO 99 */
#define TIMEOUTS 500

struct many {
	u64 first;
	int (*arm)(struct uring *ring, u64 expiry);
	bool armed;
};

static void arm_many(void *argument)
{
	struct many *many = argument;
	struct uring ring;
	int ret = uring_open(&ring);

	become_nobody();
	for (unsigned int i = 0; !ret && i < TIMEOUTS; i++)
		ret = many->arm(&ring, many->first + i * 20 * USEC);
	require(!ret, "io_uring: %s", strerror(-ret));
	many->armed = true;
	pause();
}

static void spin_over_many(struct many *many, struct window *window)
{
	pid_t pid;

	pin(test_cpu);
	become(FIFO(99));
	window_prepare();
	many->armed = false;
	many->first = now() + 60 * MSEC;
	pid = spawn(OTHER, test_cpu, arm_many, many);
	while (!many->armed)
		sleep_for(200 * USEC);
	require(now() < many->first, "armed too late");
	sleep_until(many->first - 100 * USEC);
	window_spin(window, many->first + (TIMEOUTS + 1) * 20 * USEC);
	window_read(window);
	sleep_for(50 * MSEC);
	end_process(pid);
}

static int (*const arms[])(struct uring *ring, u64 expiry) = { uring_arm, uring_arm_link };

static void many_do_not_interrupt(void)
{
	struct many *many = shared_memory(sizeof(*many));
	struct window window;

	if (slowness() > 1)
		skip("a debug kernel takes longer than the window");
	many->arm = arms[test_argument()];
	shield_set(false);
	spin_over_many(many, &window);
	require_disturbed(&window, "with the shield off");
	note("%u interruptions with the shield off", window.foreign);
	shield_set(true);
	spin_over_many(many, &window);
	note("%u interruptions", window.foreign);
	check_undisturbed(&window, "500 timeouts");
}

TEST_OF(timeouts_do_not_interrupt, many_do_not_interrupt, 0)
TEST_OF(linked_timeouts_do_not_interrupt, many_do_not_interrupt, 1)

/* What io_uring_enter() waits for itself is a sleep like others. */
static void wait_with_timeout(void *argument)
{
	struct many *many = argument;
	struct uring ring;
	int ret = uring_open(&ring);

	become_nobody();
	if (!ret)
		ret = uring_wait(&ring, many->first - now());
	check(ret == -ETIME, "io_uring_enter: %s", strerror(-ret));
	many->armed = true;
}

static unsigned int interrupted_by_wait(struct many *many)
{
	struct window window;
	pid_t pid;

	pin(test_cpu);
	become(FIFO(99));
	window_prepare();
	many->armed = false;
	many->first = now() + 20 * MSEC;
	pid = spawn(OTHER, test_cpu, wait_with_timeout, many);
	await_sleep(pid);
	sleep_until(many->first - MSEC);
	window_spin(&window, many->first + MSEC);
	window_read(&window);
	sleep_for(20 * MSEC);
	check(many->armed, "io_uring_enter() does not end");
	return window.foreign;
}

TEST(a_wait_does_not_interrupt)
{
	struct many *many = shared_memory(sizeof(*many));

	if (slowness() > 1)
		skip("a debug kernel takes longer than the window");
	shield_set(false);
	require(interrupted_by_wait(many), "no interruption with the shield off");
	shield_set(true);
	check(!interrupted_by_wait(many), "interrupted");
}
