// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rules R4, R5 and R11 during a flood: an unprivileged process has N timerfds that expire a
 * little earlier than the timer of a FIFO-80 task, while FIFO 50 spins for 600 ms. What a
 * real-time program does by the book is on time whatever N is. What nobody can follow is late
 * by no more than N / 4 ticks.
 *
 * All pass on stock. Where a timer is ranked when it is armed, by the task that arms it, and
 * a tick serves what expired first, those that must be on time are 4, 50 and 504 ms late.
 */
#define _GNU_SOURCE
#include "lib/shield.h"
#include "lib/situation.h"
#include "lib/timers.h"
#include "lib/uring.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LEVELLED (60 * MSEC)	/* until the expiry, more than a situation needs */
#define FLOOD_BEFORE (3 * MSEC)	/* of the expiry, and ends 1 ms before it */
#define FLOOD_HOG (600 * MSEC)

/* A test for each size of the flood */
#define SIZES(name, check, victim)			\
	TEST(name##_0) { check(victim, 0); }		\
	TEST(name##_100) { check(victim, 100); }	\
	TEST(name##_1000) { check(victim, 1000); }

struct flood {
	struct situation *s;
	unsigned int timers;
	bool same;			/* they expire at the instant of the victim's */
	void (*victim)(struct flood *flood);
	int fd, set;
	pid_t thread;			/* the FIFO-80 one; 0: not there yet */
	bool armed;
	pthread_mutex_t mutex;
};

static void arm_flood(const struct flood *flood)
{
	u64 first = flood->s->expiry - FLOOD_BEFORE;

	allow_files(flood->timers);
	become_nobody();
	for (unsigned int i = 0; i < flood->timers; i++) {
		int fd = timerfd_new(CLOCK_MONOTONIC, 0);

		timerfd_arm(fd, flood->same ? flood->s->expiry :
			    first + i * (FLOOD_BEFORE - MSEC) / flood->timers, 0);
	}
	pause();
}

/* The hog need not go on. */
static void note_woke(struct flood *flood)
{
	flood->s->woke = now();
	__atomic_store_n(&flood->s->hog_ends, flood->s->woke + MSEC, __ATOMIC_RELAXED);
}

static void play(const struct flood *wanted, u64 tolerance)
{
	COMPARE(s, tolerance) {
		struct flood *flood = shared_memory(sizeof(*flood));

		*flood = *wanted;
		flood->s = s;
		pi_mutex_init(&flood->mutex);
		flood->fd = timerfd_new(CLOCK_MONOTONIC, 0);
		s->expiry = now() + LEVELLED * slowness();
		s->hog_ends = s->expiry + FLOOD_HOG * slowness();
		ASLEEP(OTHER) arm_flood(flood);
		ASLEEP(OTHER) {
			flood->victim(flood);
			pause();
		}
		await_true(&flood->armed);
	}
}

static void check_victim(void (*victim)(struct flood *flood), unsigned int timers)
{
	struct flood flood = { .timers = timers, .victim = victim };

	play(&flood, TOLERANCE);
}

static void is_there(struct flood *flood)
{
	__atomic_store_n(&flood->thread, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
}

/* Until it sleeps */
static void await_victim(struct flood *flood)
{
	while (!__atomic_load_n(&flood->thread, __ATOMIC_ACQUIRE))
		sleep_for(200 * USEC);
	await_sleep(flood->thread);
}

/* FIFO 80 blocks in read() before a thread of its process, an ordinary one, arms the timerfd. */
static void *read_it(void *argument)
{
	struct flood *flood = argument;

	become(ABOVE);
	is_there(flood);
	require(timerfd_await(flood->fd), "read: %m");
	note_woke(flood);
	return NULL;
}

static void arm_timerfd(struct flood *flood)
{
	timerfd_arm(flood->fd, flood->s->expiry, 0);
	set_true(&flood->armed);
}

static void read_before_armed(struct flood *flood)
{
	pthread_t thread = thread_new(read_it, flood);

	await_victim(flood);
	arm_timerfd(flood);
	pthread_join(thread, NULL);
}

SIZES(reader_of_its_own_process_is_on_time, check_victim, read_before_armed)

/* It becomes FIFO 80 when its interval timer, or a POSIX timer, is armed already. */
static void receive(struct flood *flood, int signal)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal);
	require(sigwaitinfo(&set, NULL) == signal, "sigwaitinfo: %m");
	note_woke(flood);
}

static void await_signal(struct flood *flood, int signal)
{
	set_true(&flood->armed);
	receive(flood, signal);
}

static void raised_after_setitimer(struct flood *flood)
{
	block_signal(SIGALRM);
	itimer_arm(flood->s->expiry);
	become(ABOVE);
	await_signal(flood, SIGALRM);
}

static void raised_after_timer_settime(struct flood *flood)
{
	block_signal(SIGRTMIN);
	posix_timer_arm(SIGEV_SIGNAL, 0, flood->s->expiry, 0);
	become(ABOVE);
	await_signal(flood, SIGRTMIN);
}

SIZES(raised_after_setitimer_is_on_time, check_victim, raised_after_setitimer)

TEST(raised_after_timer_settime_is_on_time)
{
	check_victim(raised_after_timer_settime, 1000);
}

/* The timer signals a thread, which becomes FIFO 80 while its process stays what it is. */
static void *await_in_thread(void *argument)
{
	struct flood *flood = argument;
	pid_t self = syscall(SYS_gettid);

	block_signal(SIGRTMIN);
	posix_timer_arm(SIGEV_THREAD_ID, self, flood->s->expiry, 0);
	become(ABOVE);
	await_signal(flood, SIGRTMIN);
	return NULL;
}

static void raised_thread(struct flood *flood)
{
	block_signal(SIGRTMIN);
	pthread_join(thread_new(await_in_thread, flood), NULL);
}

TEST(raised_thread_is_on_time)
{
	check_victim(raised_thread, 1000);
}

/* As "chrt -p" does: somebody else raises it, who sleeps in sigwait() already. */
static void *raise_other(void *argument)
{
	struct flood *flood = argument;

	await_sleep(flood->thread);
	require(!set_policy(flood->thread, ABOVE), "cannot raise the other thread");
	set_true(&flood->armed);
	return NULL;
}

static void be_raised(struct flood *flood)
{
	is_there(flood);
	thread_new(raise_other, flood);
}

static void raised_by_another(struct flood *flood)
{
	block_signal(SIGALRM);
	itimer_arm(flood->s->expiry);
	be_raised(flood);
	receive(flood, SIGALRM);
}

TEST(raised_by_another_is_on_time)
{
	check_victim(raised_by_another, 1000);
}

TEST(raised_among_timers_of_its_instant_is_on_time)
{
	struct flood flood = { .timers = 200, .same = true, .victim = raised_by_another };

	play(&flood, TOLERANCE + flood.timers * 2 * USEC);
}

/* Far behind in a large process, it makes and arms the timer that signals the process. */
#define THREADS 90

static void *idle(void *unused)
{
	pause();
	return NULL;
}

static void *arm_own_timer(void *argument)
{
	struct flood *flood = argument;

	become(ABOVE);
	posix_timer_arm(SIGEV_SIGNAL, 0, flood->s->expiry, 0);
	await_signal(flood, SIGRTMIN);
	return NULL;
}

static void last_of_many_threads(struct flood *flood)
{
	block_signal(SIGRTMIN);
	for (unsigned int i = 0; i < THREADS; i++)
		thread_new(idle, NULL);
	pthread_join(thread_new(arm_own_timer, flood), NULL);
}

SIZES(last_of_many_threads_is_on_time, check_victim, last_of_many_threads)

/* It becomes FIFO 80 while it waits in io_uring_enter(), which is a sleep like others. */
static void raised_at_a_ring(struct flood *flood)
{
	struct uring ring;
	int ret = uring_open(&ring);

	require(!ret, "io_uring: %s", strerror(-ret));
	be_raised(flood);
	ret = uring_wait(&ring, flood->s->expiry - now());
	require(ret == -ETIME, "io_uring_enter: %s", strerror(-ret));
	note_woke(flood);
}

TEST(raised_at_a_ring_is_on_time)
{
	check_victim(raised_at_a_ring, 1000);
}

/* An ordinary task arms, and waits for, a timerfd while it has inherited FIFO 80. */
static void arm_as_boosted_owner(struct flood *flood)
{
	pthread_mutex_lock(&flood->mutex);
	ASLEEP(ABOVE) {
		pthread_mutex_lock(&flood->mutex);
		pause();
	}
	arm_timerfd(flood);
	require(timerfd_await(flood->fd), "read: %m");
	note_woke(flood);
	pthread_mutex_unlock(&flood->mutex);
}

TEST(timerfd_of_a_boosted_owner_is_on_time)
{
	check_victim(arm_as_boosted_owner, 1000);
}

/* A FIFO-80 thread that is created when the timer is armed already */
static void *await_as_new_thread(void *argument)
{
	struct flood *flood = argument;

	await_signal(flood, SIGALRM);
	return NULL;
}

static void thread_created_later(struct flood *flood)
{
	struct sched_param param = { .sched_priority = 80 };
	pthread_attr_t attributes;
	pthread_t thread;

	block_signal(SIGALRM);
	itimer_arm(flood->s->expiry);
	pthread_attr_init(&attributes);
	pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
	pthread_attr_setschedparam(&attributes, &param);
	require(!pthread_create(&thread, &attributes, await_as_new_thread, flood), "no thread");
	pthread_join(thread, NULL);
}

TEST(thread_created_later_is_on_time)
{
	check_victim(thread_created_later, 1000);
}

/* What cannot be followed: a tick expires the timer after a quarter of the flood at worst. */
static void check_bounded(void (*victim)(struct flood *flood), unsigned int timers)
{
	struct flood flood = { .timers = timers, .victim = victim };

	play(&flood, flood.timers * TICK / 4 + TOLERANCE_HELD);
}

/* As "chrt -p" does: raised while it waits for a timerfd, or for a timeout of io_uring. */
static void raised_in_read(struct flood *flood)
{
	timerfd_arm(flood->fd, flood->s->expiry, 0);
	be_raised(flood);
	require(timerfd_await(flood->fd), "read: %m");
	note_woke(flood);
}

static void raised_in_epoll(struct flood *flood)
{
	timerfd_arm(flood->fd, flood->s->expiry, 0);
	be_raised(flood);
	require(by_epoll(flood->fd) == 1, "epoll_wait: %m");
	note_woke(flood);
}

static void raised_for_a_timeout(struct flood *flood)
{
	struct uring ring;
	int ret = uring_open(&ring);

	if (!ret)
		ret = uring_arm(&ring, flood->s->expiry);
	require(!ret, "io_uring: %s", strerror(-ret));
	be_raised(flood);
	require(!uring_await(&ring), "io_uring fails");
	note_woke(flood);
}

TEST(raised_in_read_is_bounded)
{
	check_bounded(raised_in_read, 100);
}

TEST(raised_in_epoll_is_bounded)
{
	check_bounded(raised_in_epoll, 100);
}

TEST(raised_for_a_timeout_of_io_uring_is_bounded)
{
	check_bounded(raised_for_a_timeout, 100);
}

/* The module does not see who waits for an epoll set. */
static void check_set(void (*victim)(struct flood *flood), unsigned int timers)
{
	(shield_is_module() ? check_bounded : check_victim)(victim, timers);
}

/*
 * FIFO 80 waits for a set into which another process, an ordinary one, puts a timerfd that it has
 * armed: nobody of that rank has looked at it.
 */
static void await_set(struct flood *flood, int set)
{
	become(ABOVE);
	is_there(flood);
	require(epoll_await(set) == 1, "epoll_wait: %m");
	note_woke(flood);
}

static void fill_set(struct flood *flood, int set)
{
	await_victim(flood);
	epoll_add(set, flood->fd);
	arm_timerfd(flood);
}

static void await_what_others_arm(struct flood *flood)
{
	int set = epoll_with(-1);

	STARTED(OTHER) fill_set(flood, set);
	await_set(flood, set);
}

SIZES(set_that_others_fill_is_on_time, check_set, await_what_others_arm)

/* The same within a process */
static void *fill_as_thread(void *argument)
{
	struct flood *flood = argument;

	fill_set(flood, flood->set);
	return NULL;
}

static void await_what_a_thread_arms(struct flood *flood)
{
	flood->set = epoll_with(-1);
	thread_new(fill_as_thread, flood);
	await_set(flood, flood->set);
}

TEST(set_that_its_own_process_fills_is_on_time)
{
	check_set(await_what_a_thread_arms, 1000);
}

/* An ordinary task whose signal timer is armed inherits FIFO 80 while it waits for the signal. */
static void inherit_in_sigwait(struct flood *flood)
{
	pthread_mutex_lock(&flood->mutex);
	block_signal(SIGALRM);
	itimer_arm(flood->s->expiry);
	ASLEEP(ABOVE) pthread_mutex_lock(&flood->mutex);
	await_signal(flood, SIGALRM);
	pthread_mutex_unlock(&flood->mutex);
}

SIZES(signal_of_one_that_inherits_is_bounded, check_bounded, inherit_in_sigwait)
