// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rules R2 and R11 on PREEMPT_RT, where timerfds and the sleeps of ordinary tasks expire in a
 * softirq: it masks no sleeper, in a task that enables bottom halves it respects what that task
 * masks, and a release does not wait for the tick.
 */
#define _GNU_SOURCE
#include "lib/shield.h"
#include "lib/situation.h"
#include "lib/timers.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define TIMERS 1000
#define SENDS (60 * MSEC)
#define IN_A_TICK 8	/* timers, of less than a microsecond each */

struct shared {
	u64 start, late, longest;
	int fds[TIMERS];
	bool done;
};

static struct shared *begin(bool on)
{
	struct shared *s = shared_memory(sizeof(*s));

	allow_files(TIMERS);
	shield_set(on);
	pin(0);
	become(FIFO(99));
	for (int i = 0; i < TIMERS; i++)
		s->fds[i] = timerfd_new(CLOCK_MONOTONIC, TFD_NONBLOCK);
	/* half a millisecond after a tick; to switch the shield takes a while */
	s->start = now() / TICK * TICK + 2 * SEC + 500 * USEC;
	return s;
}

static void finish(struct shared *s)
{
	sleep_until(s->start + 2 * SENDS);
	require(s->done, "it has not ended");
	for (int i = 0; i < TIMERS; i++)
		close(s->fds[i]);
}

/* To a socket that drops what it gets */
static void send_packets(struct shared *s)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int from = socket(AF_INET, SOCK_DGRAM, 0), drop = socket(AF_INET, SOCK_DGRAM, 0), none = 0;
	socklen_t length = sizeof(to);
	u64 last, time;

	setsockopt(drop, SOL_SOCKET, SO_RCVBUF, &none, sizeof(none));
	require(!bind(drop, (void *)&to, sizeof(to)) &&
		!getsockname(drop, (void *)&to, &length) &&
		!connect(from, (void *)&to, sizeof(to)), "sockets");
	sleep_until(s->start);
	for (last = now(); last < s->start + SENDS; last = time) {
		require(write(from, "", 1) == 1, "write");
		time = now();
		if (time - last > s->longest)
			s->longest = time - last;
	}
	s->done = true;
}

static u64 longest_send(bool on, bool timers)
{
	struct shared *s = begin(on);
	pid_t pid;

	/* Without privilege: all are due a millisecond from the start. */
	STARTED(OTHER) {
		become_nobody();
		for (int i = 0; timers && i < TIMERS; i++)
			timerfd_arm(s->fds[i], s->start + MSEC + i * USEC, 0);
		pause();
	}
	pid = newest;
	STARTED(FIFO(80)) send_packets(s);
	finish(s);
	end_process(pid);
	return s->longest;
}

TEST(a_sender_expires_what_a_tick_may)
{
	u64 alone = longest_send(true, false), on = longest_send(true, true);

	measured(on <= alone + IN_A_TICK * USEC, "%llu ns at most next to %d timers, %llu without",
		 on, TIMERS, alone);
}

/* The timers are stock ones for the module: the thread is busy with them after the shield's own. */
static u64 late_next_to_a_busy_thread(bool on)
{
	struct shared *s = begin(false);
	u64 expiry = s->start + MSEC + 300 * USEC;
	int fd = timerfd_new(CLOCK_MONOTONIC, 0);

	for (int i = 0; i < TIMERS; i++)
		timerfd_arm(s->fds[i], s->start + i, 0);
	shield_set(on);
	become(OTHER);
	timerfd_arm(fd, s->start - 800 * USEC, 0);
	become(FIFO(99));
	STARTED(FIFO(60)) {
		sleep_until(s->start - MSEC);
		spin_until(s->start + MSEC);
	}
	/* A timerfd of its own is due while it sleeps: the softirq begins at its level. */
	STARTED(FIFO(80)) {
		timerfd_arm(timerfd_new(CLOCK_MONOTONIC, 0), s->start - 500 * USEC, 0);
		sleep_until(expiry);
		s->late = now() - expiry;
		s->done = true;
	}
	finish(s);
	close(fd);
	return s->late;
}

TEST(the_thread_masks_no_sleeper)
{
	u64 off = late_next_to_a_busy_thread(false), on = late_next_to_a_busy_thread(true);

	measured(on <= off + 50 * USEC, "FIFO 80 %llu ns late, %llu with the shield off", on, off);
}

/* No tick comes between its expiry and the release, and the hog keeps the CPU from becoming idle. */
static u64 late_after_the_release(bool on)
{
	struct shared *s = begin(on);
	u64 release = s->start + 2 * MSEC;

	/* As ktimers is; ksoftirqd, ordinary, waits for a slice of the hog. */
	set_softirq_threads(test_cpu, FIFO(1));
	ASLEEP(OTHER) {
		sleep_until(release - MSEC);
		s->late = now() - release;
		s->done = true;
	}
	STARTED(IDLE) spin_until(release + SENDS);
	STARTED(FIFO(80)) {
		sleep_until(s->start);
		spin_until(release);
	}
	finish(s);
	set_softirq_threads(test_cpu, OTHER);
	return s->late;
}

TEST(an_ordinary_sleeper_is_released_at_once)
{
	u64 off = late_after_the_release(false), on = late_after_the_release(true);

	measured(on <= off + 50 * USEC, "%llu ns after the release, %llu with the shield off", on, off);
}
