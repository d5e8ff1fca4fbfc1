// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rule R4 for timers that send a signal: POSIX timers, interval timers, alarm
 * timers. They rank with the thread that is signalled, or with the process's
 * highest-ranking thread, also if that becomes real-time when they are armed already (R5).
 *
 * Tests of lateness pass on stock, tests of levels fail there. With a timer that ranks
 * with the task that armed it, and no tick that expires what is held, all of them fail.
 */
#define _GNU_SOURCE
#include "lib/shield.h"
#include "lib/situation.h"
#include "lib/timers.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How a process of an ordinary thread and a FIFO-80 one arms a timer. */
static const struct {
	bool itimer;		/* the interval timer, else a POSIX timer: */
	clockid_t clock;
	int notify;		/* SIGEV_* */
	bool thread_last;	/* the FIFO-80 thread is started after it is armed */
} cases[] = {
	{ .clock = CLOCK_MONOTONIC, .notify = SIGEV_THREAD_ID },
	{ .clock = CLOCK_MONOTONIC, .notify = SIGEV_SIGNAL },
	{ .itimer = true },
	{ .clock = CLOCK_MONOTONIC, .notify = SIGEV_SIGNAL, .thread_last = true },
	{ .itimer = true, .thread_last = true },
	{ .clock = CLOCK_BOOTTIME_ALARM, .notify = SIGEV_THREAD_ID },
	{ .clock = CLOCK_BOOTTIME_ALARM, .notify = SIGEV_SIGNAL },
};

static void rise(void)
{
	become(ABOVE);
}

static void ranks_with_whom_it_signals(void)
{
	typeof(&cases[0]) arm = &cases[test_argument()];
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	timer_t timer;

	if (!arm->itimer && timer_create(arm->clock, &event, &timer))
		skip("timer_create: %m");
	COMPARE(s, TOLERANCE) {
		STARTED(OTHER) {
			struct signal_waiter waiter = { .settle = rise, .woke = &s->woke };
			pthread_t thread = 0;

			if (!arm->thread_last)
				thread = signal_waiter_start(&waiter);
			if (arm->itimer)
				itimer_arm(s->expiry);
			else
				posix_timer_new(arm->clock, arm->notify, waiter.thread, s->expiry,
						0);
			if (arm->thread_last)
				thread = signal_waiter_start(&waiter);
			pthread_join(thread, NULL);
		}
		sleep_for(5 * MSEC * slowness());
	}
}

TEST_OF(posix_timer_thread, ranks_with_whom_it_signals, 0)
TEST_OF(posix_timer_process, ranks_with_whom_it_signals, 1)
TEST_OF(itimer, ranks_with_whom_it_signals, 2)
TEST_OF(posix_timer_process_raised_later, ranks_with_whom_it_signals, 3)
TEST_OF(itimer_raised_later, ranks_with_whom_it_signals, 4)
TEST_OF(alarm_timer_thread, ranks_with_whom_it_signals, 5)
TEST_OF(alarm_timer_process, ranks_with_whom_it_signals, 6)

/*
 * A process arms as an ordinary task, becomes FIFO 80, and spins over the expiry
 * itself.
 */
static u64 * volatile alarm_time;

static void note_alarm(int signal)
{
	*alarm_time = now();
}

TEST(itimer_rises_with_its_process)
{
	COMPARE(s, TOLERANCE) {
		STARTED(OTHER) {
			alarm_time = &s->woke;
			signal(SIGALRM, note_alarm);
			itimer_arm(s->expiry);
			become(ABOVE);
			spin_until(s->expiry + HOG - 1 * MSEC * slowness());
		}
		sleep_for(1 * MSEC * slowness());
	}
}

/* Levels, with expiries an hour away. */
#define FAR (3600 * SEC)

/* A process of two threads, an ordinary one and the other. */
struct pair {
	pthread_barrier_t *step;	/* with the test */
	pthread_barrier_t *inside;
	u64 expiry;		/* of the process's POSIX timer; + 1: of the other thread's */
	struct policy policy;	/* of the other thread */
	pid_t thread;
};

static void *other_thread(void *argument)
{
	struct pair *pair = argument;

	become(pair->policy);
	pair->thread = syscall(SYS_gettid);
	pthread_barrier_wait(pair->inside);
	pthread_barrier_wait(pair->inside);
	return NULL;
}

static struct pair *new_pair(struct policy policy)
{
	struct pair *pair = shared_memory(sizeof(*pair));

	pin(test_cpu);
	become(FIFO(99));
	pair->step = barrier_new();
	pair->inside = barrier_new();
	pair->expiry = now() + FAR;
	pair->policy = policy;
	STARTED(OTHER) {
		pthread_t thread;

		block_signal(SIGRTMIN);
		thread = thread_new(other_thread, pair);
		pthread_barrier_wait(pair->inside);
		posix_timer_arm(SIGEV_SIGNAL, 0, pair->expiry, 0);
		posix_timer_arm(SIGEV_THREAD_ID, pair->thread, pair->expiry + 1, 0);
		pthread_barrier_wait(pair->step);
		pthread_barrier_wait(pair->step);
		pthread_barrier_wait(pair->inside);
		pthread_join(thread, NULL);
		/* The thread is gone: arm the process's timer again. */
		posix_timer_arm(SIGEV_SIGNAL, 0, pair->expiry + 2, 0);
		pthread_barrier_wait(pair->step);
		pause();
	}
	pthread_barrier_wait(pair->step);
	return pair;
}

static void expect_pair(const struct pair *pair, struct policy process, struct policy thread,
			const char *when)
{
	expect_level("posix_timer_fn", pair->expiry, policy_level(process), when);
	expect_level("posix_timer_fn", pair->expiry + 1, policy_level(thread), when);
}

TEST(timers_rank_with_the_highest_thread)
{
	expect_pair(new_pair(OTHER), OTHER, OTHER, "two ordinary threads");
	expect_pair(new_pair(FIFO(40)), FIFO(40), FIFO(40), "one is FIFO 40");
	expect_pair(new_pair(DEADLINE(1 * MSEC, 100 * MSEC)), DEADLINE(0, 0), DEADLINE(0, 0),
		    "one is SCHED_DEADLINE");
}

TEST(timer_armed_after_the_highest_thread_left_ranks_lower)
{
	struct pair *pair = new_pair(FIFO(40));

	expect_pair(pair, FIFO(40), FIFO(40), "one is FIFO 40");
	pthread_barrier_wait(pair->step);
	pthread_barrier_wait(pair->step);
	expect_level("posix_timer_fn", pair->expiry + 2, LEVEL_FAIR,
		     "armed when the FIFO-40 thread had ended");
}

/* The interval timer's expiry is not known to the nanosecond: it is the only one. */
TEST(itimer_ranks_with_its_process)
{
	static const struct policy policies[] = { FIFO(30), RR(5), IDLE, OTHER };

	pin(test_cpu);
	become(FIFO(99));
	for (unsigned int i = 0; i < ARRAY_SIZE(policies); i++) {
		ASLEEP(policies[i]) {
			itimer_arm(now() + FAR);
			pause();
		}
		expect_level("it_real_fn", 0, policy_level(policies[i]), "armed");
		end_process(newest);
	}
}

#define PERIOD (10 * MSEC)

/*
 * A POSIX timer whose signal is ignored is armed again by the interrupt itself: its level is not
 * that of the task which that interrupts.
 */
TEST(armed_by_its_interrupt_keeps_its_level)
{
	u64 first;
	int level;

	pin(test_cpu);
	become(IDLE);
	first = now() + PERIOD;
	STARTED(FIFO(80)) {
		signal(SIGRTMIN, SIG_IGN);
		posix_timer_arm(SIGEV_SIGNAL, 0, first, PERIOD);
		pause();
	}
	/* It expires while this task runs, SCHED_IDLE, and while the CPU is idle. */
	for (unsigned int i = 0; i < 6; i++) {
		u64 next = first + i * PERIOD;

		if (i % 2)
			spin_until(next + 2 * MSEC);
		else
			sleep_until(next + 2 * MSEC);
		level = timer_level("posix_timer_fn", next + PERIOD);
		if (level == -ENOENT && shield_present())
			skip("since 6.13 such a timer is not armed while its signal is ignored");
		check(level == (int)shown_level(LEVEL_FIFO + 80),
		      "after %u expiries its level is %d, expected %u", i + 1, level,
		      shown_level(LEVEL_FIFO + 80));
	}
}
