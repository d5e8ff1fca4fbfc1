// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rule R4, its other side: an unprivileged process cannot lift its timers above
 * its own tasks. It tries, with timers that expire in an hour, and
 * /proc/timer_list tells how they rank.
 *
 * All fail on stock, which shows no levels.
 */
#define _GNU_SOURCE
#include "lib/shield.h"
#include "lib/situation.h"
#include "lib/timers.h"
#include "lib/uring.h"

#include <errno.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define FAR (3600 * SEC)

/* Kinds of timers; an attack arms some of them, each with its own expiry. */
enum kind { TIMERFD, PROCESS, THREAD, ITIMER, SLEEP, KINDS };

static const char * const functions[KINDS] = {
	"timerfd_tmrproc", "posix_timer_fn", "posix_timer_fn", "it_real_fn", "hrtimer_wakeup",
};

/* Shared by test and attacker. */
struct attack {
	pthread_barrier_t *barrier;
	u64 base;			/* expiry of kind k: base + k */
	bool armed[KINDS];
	pthread_mutex_t *mutex;
	int fd;				/* the timerfd */
};

static void drop_privileges(void)
{
	become_nobody();
	require(set_policy(0, FIFO(1)) == -EPERM, "nobody may use real-time priorities");
}

/* The test and the attacker wait here for each other. */
static void meet(struct attack *attack)
{
	pthread_barrier_wait(attack->barrier);
}

static void set_timerfd(struct attack *attack, u64 first, u64 period)
{
	timerfd_arm(attack->fd, first, period);
	attack->armed[TIMERFD] = true;
}

static void set_posix_timer(struct attack *attack, enum kind kind, u64 first, u64 period)
{
	posix_timer_arm(kind == THREAD ? SIGEV_THREAD_ID : SIGEV_SIGNAL, syscall(SYS_gettid),
			first, period);
	attack->armed[kind] = true;
}

static void arm_all(struct attack *attack)
{
	struct itimerval alarm = { .it_value = { .tv_sec = 7200 } };

	set_timerfd(attack, attack->base + TIMERFD, 0);
	set_posix_timer(attack, PROCESS, attack->base + PROCESS, 0);
	set_posix_timer(attack, THREAD, attack->base + THREAD, 0);
	setitimer(ITIMER_REAL, &alarm, NULL);
	attack->armed[ITIMER] = true;
}

static struct attack *attack_new(void)
{
	struct attack *attack = shared_memory(sizeof(*attack));

	pin(test_cpu);
	become(FIFO(99));
	attack->base = now() + FAR;
	attack->fd = timerfd_new(CLOCK_MONOTONIC, TFD_NONBLOCK);
	attack->mutex = pi_mutex_new();
	attack->barrier = barrier_new();
	return attack;
}

/* Nothing that the attacker armed ranks above an ordinary task. */
static void expect_ordinary(const struct attack *attack, const char *when)
{
	if (kernel_is_rt())
		skip("timers that expire in a thread have no level");
	for (enum kind kind = 0; kind < KINDS; kind++) {
		int level;

		if (!attack->armed[kind])
			continue;
		level = timer_level(functions[kind], kind == ITIMER ? 0 : attack->base + kind);
		check(level >= 0 && level <= LEVEL_FAIR, "%s: %s, kind %u, has level %d", when,
		      functions[kind], kind, level);
	}
}

/* By a set of its own, sets of sets, poll, and AIO's poll: nobody else waits. */
static void start_aio_poll(int fd)
{
	static aio_context_t context;
	struct iocb request = {
		.aio_fildes = fd, .aio_lio_opcode = IOCB_CMD_POLL, .aio_buf = POLLIN,
	};
	struct iocb *requests[] = { &request };

	require(!syscall(SYS_io_setup, 8, &context), "io_setup: %m");
	require(syscall(SYS_io_submit, context, 1, requests) == 1, "io_submit: %m");
}

static void *poll_it(void *argument)
{
	by_poll(*(int *)argument);
	return NULL;
}

static void gather_waiters(struct attack *attack)
{
	int outer = epoll_with(epoll_with(attack->fd));
	struct epoll_event event;

	epoll_add(outer, attack->fd);
	epoll_wait(outer, &event, 1, 0);
	start_aio_poll(attack->fd);
	thread_new(poll_it, &attack->fd);
}

TEST(its_own_waiters_do_not_help)
{
	struct attack *attack = attack_new();

	STARTED(OTHER) {
		drop_privileges();
		arm_all(attack);
		gather_waiters(attack);
		meet(attack);
		meet(attack);
		arm_all(attack);
		meet(attack);
		pause();
	}
	meet(attack);
	expect_ordinary(attack, "with waiters of its own");
	meet(attack);
	meet(attack);
	expect_ordinary(attack, "armed again");
}

/* Timers that wake the machine are for the privileged. */
TEST(alarm_clocks_are_not_for_it)
{
	if (!shield_present())
		fail("no " SHIELD_SWITCH);
	ENDED(OTHER) {
		struct sigevent event = { .sigev_notify = SIGEV_NONE };
		struct timespec time = { .tv_nsec = 1 };
		timer_t timer;

		drop_privileges();
		check(timerfd_create(CLOCK_BOOTTIME_ALARM, 0) < 0,
		      "timerfd of CLOCK_BOOTTIME_ALARM");
		check(timer_create(CLOCK_BOOTTIME_ALARM, &event, &timer) < 0,
		      "timer of CLOCK_BOOTTIME_ALARM");
		check(clock_nanosleep(CLOCK_BOOTTIME_ALARM, 0, &time, NULL) != 0,
		      "sleep by CLOCK_BOOTTIME_ALARM");
	}
}

/* It holds a lock for which a real-time task waits, and sleeps while it is boosted. */
TEST(boosting_ends_with_the_boost)
{
	struct attack *attack = attack_new();
	pid_t attacker, waiter;

	STARTED(OTHER) {
		drop_privileges();
		pthread_mutex_lock(attack->mutex);
		meet(attack);
		meet(attack);
		sleep_until(attack->base + SLEEP);
	}
	attacker = newest;
	meet(attack);
	ASLEEP(FIFO(60)) {
		pthread_mutex_lock(attack->mutex);
		pause();
	}
	waiter = newest;
	meet(attack);
	await_sleep(attacker);
	expect_level("hrtimer_wakeup", attack->base + SLEEP, LEVEL_FIFO + 60,
		     "its sleep, while a FIFO-60 task waits for its lock");
	end_process(waiter);
	attack->armed[SLEEP] = true;
	expect_ordinary(attack, "after the boost");
}

/* What it arms, and looks at, while it is boosted has that level this time, and not the next. */
TEST(boosting_lasts_for_one_arming)
{
	struct attack *attack = attack_new();

	STARTED(OTHER) {
		drop_privileges();
		pthread_mutex_lock(attack->mutex);
		meet(attack);
		meet(attack);
		arm_all(attack);
		gather_waiters(attack);
		meet(attack);
		pthread_mutex_unlock(attack->mutex);
		attack->base += KINDS;
		arm_all(attack);
		meet(attack);
		pause();
	}
	meet(attack);
	ASLEEP(FIFO(60)) {
		pthread_mutex_lock(attack->mutex);
		pause();
	}
	meet(attack);
	meet(attack);
	meet(attack);
	expect_ordinary(attack, "armed again after the boost");
	expect_level("posix_timer_fn", attack->base - KINDS + PROCESS, LEVEL_FIFO + 60,
		     "armed while a FIFO-60 task waits for its lock");
}

/* Its wait in io_uring_enter() is a sleep like others. */
TEST(a_wait_at_a_ring_is_boosted)
{
	struct attack *attack = attack_new();
	pid_t attacker, waiter;

	STARTED(OTHER) {
		struct uring ring;
		int ret;

		drop_privileges();
		ret = uring_open(&ring);
		require(!ret, "io_uring: %s", strerror(-ret));
		pthread_mutex_lock(attack->mutex);
		meet(attack);
		meet(attack);
		uring_wait(&ring, FAR);
	}
	attacker = newest;
	meet(attack);
	ASLEEP(FIFO(60)) pthread_mutex_lock(attack->mutex);
	waiter = newest;
	meet(attack);
	await_sleep(attacker);
	expect_level("io_cqring_timer_wakeup", 0, LEVEL_FIFO + 60, "while it is boosted");
	end_process(waiter);
	expect_level("io_cqring_timer_wakeup", 0, LEVEL_FAIR, "after the boost");
}

/* A real-time task becomes nobody's, and ordinary, and arms its timers again. */
TEST(timers_fall_with_their_task)
{
	struct attack *attack = attack_new();

	STARTED(FIFO(30)) {
		arm_all(attack);
		become(OTHER);
		drop_privileges();
		arm_all(attack);
		meet(attack);
		pause();
	}
	meet(attack);
	/* Those of POSIX are others now, the first ones stay where they are. */
	attack->armed[PROCESS] = false;
	attack->armed[THREAD] = false;
	expect_ordinary(attack, "armed at FIFO 30, and again as an ordinary task");
}

/* A child of a real-time task, with what it inherits. */
TEST(what_a_child_inherits_does_not_help)
{
	struct attack *attack = attack_new();

	STARTED(FIFO(30)) {
		set_timerfd(attack, attack->base + TIMERFD, 0);
		STARTED(FIFO(30)) {
			become(OTHER);
			drop_privileges();
			arm_all(attack);
			gather_waiters(attack);
			meet(attack);
			pause();
		}
		pause();
	}
	meet(attack);
	expect_ordinary(attack, "of a child of a FIFO-30 task");
}

/* A privileged thread leaves the process: its timers' next period is ordinary. */
static void *be_privileged(void *barrier)
{
	become(FIFO(40));
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	return NULL;
}

TEST(timers_fall_when_a_thread_leaves)
{
	struct attack *attack = attack_new();

	STARTED(OTHER) {
		sigset_t set = block_signal(SIGRTMIN);
		pthread_barrier_t *barrier = barrier_new();
		pthread_t thread = thread_new(be_privileged, barrier);
		siginfo_t info;
		u64 first;

		pthread_barrier_wait(barrier);
		/* Expires in 5 ms, then at base + PROCESS. */
		first = now() + 5 * MSEC;
		set_posix_timer(attack, PROCESS, first, attack->base + PROCESS - first);
		pthread_barrier_wait(barrier);
		pthread_join(thread, NULL);
		require(sigwaitinfo(&set, &info) == SIGRTMIN, "sigwaitinfo: %m");
		meet(attack);
		pause();
	}
	meet(attack);
	expect_ordinary(attack, "a period begun without its FIFO-40 thread");
}
