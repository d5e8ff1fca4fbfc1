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
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How a process of an ordinary thread and a FIFO-80 one arms a timer. */
struct signal_wait {
	struct situation *s;
	clockid_t clock;
	bool itimer;		/* the interval timer, else a POSIX timer: */
	int notify;		/* SIGEV_* */
	bool thread_last;	/* the FIFO-80 thread is started after it is armed */
	pid_t thread;
};

static sigset_t signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigaddset(&set, SIGALRM);
	return set;
}

static void *wait_for_signal(void *argument)
{
	struct signal_wait *wait = argument;
	sigset_t set = signals();
	siginfo_t info;

	become(ABOVE);
	wait->thread = syscall(SYS_gettid);
	if (sigwaitinfo(&set, &info) >= 0)
		wait->s->woke = now();
	return NULL;
}

static pthread_t start_thread(struct signal_wait *wait)
{
	pthread_t thread;

	require(!pthread_create(&thread, NULL, wait_for_signal, wait), "no thread");
	while (!__atomic_load_n(&wait->thread, __ATOMIC_ACQUIRE))
		sleep_for(200 * USEC);
	return thread;
}

static void arm(struct signal_wait *wait)
{
	if (wait->itimer)
		itimer_arm(wait->s->expiry);
	else
		posix_timer_new(wait->clock, wait->notify, wait->thread, wait->s->expiry, 0);
}

static void arm_for_thread(void *argument)
{
	struct signal_wait *wait = argument;
	sigset_t set = signals();
	pthread_t thread = 0;

	sigprocmask(SIG_BLOCK, &set, NULL);
	if (!wait->thread_last)
		thread = start_thread(wait);
	arm(wait);
	if (wait->thread_last)
		thread = start_thread(wait);
	pthread_join(thread, NULL);
}

static u64 signal_situation(void *argument)
{
	struct signal_wait *wait = shared_memory(sizeof(*wait));

	*wait = *(struct signal_wait *)argument;
	wait->s = situation_new();
	spawn(OTHER, test_cpu, arm_for_thread, wait);
	sleep_for(5 * MSEC * slowness());
	require(wait->thread, "the thread was not started");
	return situation_lateness(wait->s);
}

static struct signal_wait cases[] = {
	{ .clock = CLOCK_MONOTONIC, .notify = SIGEV_THREAD_ID },
	{ .clock = CLOCK_MONOTONIC, .notify = SIGEV_SIGNAL },
	{ .itimer = true },
	{ .clock = CLOCK_MONOTONIC, .notify = SIGEV_SIGNAL, .thread_last = true },
	{ .itimer = true, .thread_last = true },
	{ .clock = CLOCK_BOOTTIME_ALARM, .notify = SIGEV_THREAD_ID },
	{ .clock = CLOCK_BOOTTIME_ALARM, .notify = SIGEV_SIGNAL },
};

static void ranks_with_whom_it_signals(void)
{
	struct signal_wait *wait = &cases[test_argument()];
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	timer_t timer;

	if (!wait->itimer && timer_create(wait->clock, &event, &timer))
		skip("timer_create: %s", strerror(errno));
	compare(signal_situation, wait, TOLERANCE);
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

static void arm_and_rise(void *argument)
{
	struct situation *s = argument;

	alarm_time = &s->woke;
	signal(SIGALRM, note_alarm);
	itimer_arm(s->expiry);
	become(ABOVE);
	spin_until(s->expiry + HOG - 1 * MSEC * slowness());
}

static u64 rising_situation(void *argument)
{
	struct situation *s = situation_new();

	spawn(OTHER, test_cpu, arm_and_rise, s);
	sleep_for(1 * MSEC * slowness());
	return situation_lateness(s);
}

TEST(itimer_rises_with_its_process)
{
	compare(rising_situation, NULL, TOLERANCE);
}

/*
 * Levels, with expiries an hour away. A process of two threads; what it does is
 * told to it, step by step.
 */
#define FAR (3600 * SEC)

struct pair {
	unsigned int done;
	u64 expiry;		/* of the process's POSIX timer; + 1: of its thread's */
	struct policy policy;	/* of its second thread */
	pid_t main, thread;
	bool end_thread;
};

static void *idle_thread(void *argument)
{
	struct pair *pair = argument;

	become(pair->policy);
	__atomic_store_n(&pair->thread, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&pair->end_thread, __ATOMIC_ACQUIRE))
		sleep_for(1 * MSEC);
	return NULL;
}

static void two_threads(void *argument)
{
	struct pair *pair = argument;
	sigset_t set = signals();
	pthread_t thread;

	sigprocmask(SIG_BLOCK, &set, NULL);
	pair->main = syscall(SYS_gettid);
	require(!pthread_create(&thread, NULL, idle_thread, pair), "no thread");
	while (!__atomic_load_n(&pair->thread, __ATOMIC_ACQUIRE))
		sleep_for(200 * USEC);
	posix_timer_arm(SIGEV_SIGNAL, 0, pair->expiry, 0);
	posix_timer_arm(SIGEV_THREAD_ID, pair->thread, pair->expiry + 1, 0);
	__atomic_store_n(&pair->done, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	/* The thread is gone: arm the process's timer again. */
	posix_timer_arm(SIGEV_SIGNAL, 0, pair->expiry + 2, 0);
	__atomic_store_n(&pair->done, 2, __ATOMIC_RELEASE);
	pause();
}

static void await_step(struct pair *pair, unsigned int step)
{
	u64 limit = now() + 2 * SEC * slowness();

	while (__atomic_load_n(&pair->done, __ATOMIC_ACQUIRE) < step) {
		require(now() < limit, "step %u is not reached", step);
		sleep_for(1 * MSEC);
	}
}

static struct pair *new_pair(struct policy policy)
{
	struct pair *pair = shared_memory(sizeof(*pair));

	pin(test_cpu);
	become(FIFO(99));
	pair->expiry = now() + FAR;
	pair->policy = policy;
	spawn(OTHER, test_cpu, two_threads, pair);
	await_step(pair, 1);
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
	__atomic_store_n(&pair->end_thread, true, __ATOMIC_RELEASE);
	await_step(pair, 2);
	expect_level("posix_timer_fn", pair->expiry + 2, LEVEL_FAIR,
		     "armed when the FIFO-40 thread had ended");
}

/* The interval timer's expiry is not known to the nanosecond: it is the only one. */
static void alarm_far(void *argument)
{
	sigset_t set = signals();

	sigprocmask(SIG_BLOCK, &set, NULL);
	itimer_arm(now() + FAR);
	pause();
}

TEST(itimer_ranks_with_its_process)
{
	static const struct policy policies[] = {
		{ .policy = SCHED_FIFO, .priority = 30 },
		{ .policy = SCHED_RR, .priority = 5 },
		{ .policy = SCHED_IDLE },
		{ .policy = SCHED_OTHER },
	};

	pin(test_cpu);
	become(FIFO(99));
	for (unsigned int i = 0; i < ARRAY_SIZE(policies); i++) {
		pid_t pid = spawn(policies[i], test_cpu, alarm_far, NULL);

		await_sleep(pid);
		expect_level("it_real_fn", 0, policy_level(policies[i]), "armed");
		end_process(pid);
	}
}

#define PERIOD (10 * MSEC)

/*
 * A POSIX timer whose signal is ignored is armed again by the interrupt itself: its level is not
 * that of the task which that interrupts.
 */
static void arm_ignored(void *argument)
{
	const u64 *first = argument;

	signal(SIGRTMIN, SIG_IGN);
	posix_timer_arm(SIGEV_SIGNAL, 0, *first, PERIOD);
	pause();
}

TEST(armed_by_its_interrupt_keeps_its_level)
{
	u64 *first = shared_memory(sizeof(*first));
	pid_t pid;
	int level;

	pin(test_cpu);
	become(IDLE);
	*first = now() + PERIOD;
	pid = spawn(FIFO(80), test_cpu, arm_ignored, first);
	/* It expires while this task runs, SCHED_IDLE, and while the CPU is idle. */
	for (unsigned int i = 0; i < 6; i++) {
		u64 next = *first + i * PERIOD;

		if (i % 2)
			spin_until(next + 2 * MSEC);
		else
			sleep_until(next + 2 * MSEC);
		level = timer_level("posix_timer_fn", next + PERIOD);
		if (level == -ENOENT && shield_present())
			skip("since 6.13 such a timer is not armed while its signal is ignored");
		check(level == LEVEL_FIFO + 80, "after %u expiries its level is %d, expected %d",
		      i + 1, level, LEVEL_FIFO + 80);
	}
	kill(pid, SIGKILL);
}
