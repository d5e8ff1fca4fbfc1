// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * io_uring: its timeouts, which are never masked, end the wait of a task on time (rule R3).
 *
 * These pass on stock. Where a timeout keeps the level of the task that armed it, the
 * first three fail: 20 ms late; where the level of a process without other timers is
 * not known, the last one: never expires while any task runs.
 */
#define _GNU_SOURCE
#include "lib/situation.h"
#include "lib/uring.h"

#include <poll.h>
#include <string.h>
#include <sys/wait.h>

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

static void ranks_with_who_waits(void)
{
	bool polls = false;

	compare(raised_first, &polls, TOLERANCE);
}

static void ranks_with_who_polls(void)
{
	bool polls = true;

	compare(raised_first, &polls, TOLERANCE);
}

static void follows_who_waits(void)
{
	compare(raised_while_it_waits, NULL, TOLERANCE);
}

/* An ordinary process, without other timers, looks for the completion in memory. */
static void arm_and_peek(void *argument)
{
	struct situation *s = argument;
	struct uring ring;
	int ret = uring_open(&ring);

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

static void ranks_with_its_process(void)
{
	compare(peeked, NULL, TOLERANCE);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST(ranks_with_who_waits),
		TEST(ranks_with_who_polls),
		TEST(follows_who_waits),
		TEST(ranks_with_its_process),
	};

	return run_tests(argc, argv, tests, ARRAY_SIZE(tests), 0);
}
