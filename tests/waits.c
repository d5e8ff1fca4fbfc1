// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rules R2, R5 and R11: each call that waits, in each way of becoming important, next to timers of
 * another user that expire a little earlier. FIFO 50 spins over the expiry; the task that waits is,
 * or becomes, FIFO 80. One that was so from the start is as punctual as with the shield off. One
 * that became so while its timer was pending is two ticks late at most, and behind N timers of
 * others by what R11 says.
 *
 * All pass on stock. Where a tick does not serve what is held, they are late by as long as FIFO 50
 * spins.
 */
#define _GNU_SOURCE
#include "lib/api.h"
#include "lib/shield.h"
#include "lib/situation.h"
#include "lib/timers.h"
#include "lib/uring.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define LEAD_OF_ALL (30 * MSEC)
#define LONG_HOG (200 * MSEC)
#define OTHERS 100
#define MANY_OTHERS 1000
#define OTHERS_BEFORE (3 * MSEC)	/* of the expiry, and the last of them 1 ms before it */
/*
 * To serve a timer takes 1 us at most here, and only the tick interrupts the hog: 20 us of them are
 * served in each. A distribution's kernel, which is what the module has, takes longer for each.
 */
#define BEHIND(others) ((others) * (shield_is_module() ? TICK / 13 : TICK / 20))

struct play {
	const struct api *api;
	struct situation *s;
	unsigned int others;
	pthread_mutex_t *mutex;
	bool *ready, *go;
};

/* Those of apis[], and more; NULL after the last */
static const struct api *nth_api(unsigned int number)
{
	if (number < api_count)
		return &apis[number];
	number -= api_count;
	if (number < polled_api_count)
		return &polled_apis[number];
	number -= polled_api_count;
	if (!number)
		return &uring_api;
	return number == 1 && !access("/dev/ntsync", F_OK) ? &ntsync_api : NULL;
}

static void arm_others(const struct play *play)
{
	u64 first = play->s->expiry - OTHERS_BEFORE;

	allow_files(play->others);
	become_nobody();
	for (unsigned int i = 0; i < play->others; i++)
		timerfd_arm(timerfd_new(CLOCK_MONOTONIC, 0),
			    first + i * (OTHERS_BEFORE - MSEC) / play->others, 0);
	pause();
}

/* It runs again; the hog need not go on. */
static void note_woke(struct situation *s)
{
	s->woke = now();
	__atomic_store_n(&s->hog_ends, s->woke + MSEC, __ATOMIC_RELAXED);
}

static void wait_by(const struct play *play)
{
	u64 due;
	int ret = play->api->wait(play->api, play->s->expiry, &due);

	note_woke(play->s);
	/* In whole milliseconds, or microseconds: what is asked for is not to be later. */
	play->s->expiry = due;
	require(!ret, "%s: %s", play->api->name, strerror(-ret));
}

static void change(pid_t pid, struct policy policy)
{
	int ret = set_policy(pid, policy);

	require(!ret, "set_policy: %s", strerror(-ret));
}

static void wait_for_lock(const struct play *play)
{
	pthread_mutex_lock(play->mutex);
	pthread_mutex_unlock(play->mutex);
}

static void from_the_start(const struct play *play)
{
	ASLEEP(ABOVE) wait_by(play);
}

static void raised(const struct play *play)
{
	ASLEEP(OTHER) wait_by(play);
	change(newest, ABOVE);
}

static void lowered_and_raised(const struct play *play)
{
	ASLEEP(ABOVE) wait_by(play);
	change(newest, OTHER);
	change(newest, ABOVE);
}

static void boosted(const struct play *play)
{
	ASLEEP(OTHER) {
		pthread_mutex_lock(play->mutex);
		wait_by(play);
		pthread_mutex_unlock(play->mutex);
	}
	ASLEEP(ABOVE) wait_for_lock(play);
}

static void boost_then_wait(const struct play *play, struct policy from)
{
	pid_t holder;

	STARTED(from) {
		pthread_mutex_lock(play->mutex);
		set_true(play->ready);
		await_true(play->go);
		wait_by(play);
		pthread_mutex_unlock(play->mutex);
	}
	holder = newest;
	await_true(play->ready);
	ASLEEP(ABOVE) wait_for_lock(play);
	set_true(play->go);
	sleep_for(MSEC);
	await_sleep(holder);
}

static void boosted_first(const struct play *play)
{
	boost_then_wait(play, OTHER);
}

static void fifo_10_boosted_first(const struct play *play)
{
	boost_then_wait(play, FIFO(10));
}

static void *idle(void *unused)
{
	pause();
	return NULL;
}

static void *wait_in_thread(void *argument)
{
	const struct play *play = argument;

	become(ABOVE);
	set_true(play->ready);
	wait_by(play);
	return NULL;
}

static void in_the_90th_thread(const struct play *play)
{
	STARTED(OTHER) {
		block_signal(SIGRTMIN);
		block_signal(SIGALRM);
		block_signal(SIGUSR2);
		for (unsigned int i = 0; i < 88; i++)
			thread_new(idle, NULL);
		pthread_join(thread_new(wait_in_thread, (void *)play), NULL);
	}
	await_true(play->ready);
	sleep_for(MSEC);
}

static void play_each(void (*way)(const struct play *play), unsigned int others, u64 tolerance)
{
	const struct api *api;

	needs_a_fast_kernel();
	for (unsigned int i = 0; (api = nth_api(i)); i++) {
		note("%s:", api->name);
		COMPARE(s, tolerance) {
			struct play play = {
				.api = api, .s = s, .others = others, .mutex = pi_mutex_new(),
				.ready = shared_memory(sizeof(bool)),
				.go = shared_memory(sizeof(bool)),
			};

			situation_start(s, LEAD_OF_ALL);
			s->hog_ends = s->expiry + LONG_HOG;
			ASLEEP(OTHER) arm_others(&play);
			way(&play);
		}
	}
}

TEST(each_call_from_the_start)
{
	play_each(from_the_start, OTHERS, PROMPT);
}

TEST(each_call_in_the_90th_thread)
{
	play_each(in_the_90th_thread, OTHERS, PROMPT);
}

TEST(each_call_boosted_first)
{
	play_each(boosted_first, OTHERS, HOLD + BEHIND(OTHERS));
}

TEST(each_call_fifo_10_boosted_first)
{
	play_each(fifo_10_boosted_first, OTHERS, HOLD + BEHIND(OTHERS));
}

TEST(each_call_raised_while_it_waits)
{
	play_each(raised, OTHERS, HOLD + BEHIND(OTHERS));
}

TEST(each_call_lowered_and_raised)
{
	play_each(lowered_and_raised, OTHERS, HOLD + BEHIND(OTHERS));
}

TEST(each_call_boosted_while_it_waits)
{
	play_each(boosted, OTHERS, HOLD + BEHIND(OTHERS));
}

/* The price of a class that is decided once, next to very many: a single one of each kind. */
TEST(raised_next_to_very_many)
{
	static const char * const names[] = {
		"clock_nanosleep", "timerfd", "timer_settime_signal", "setitimer",
	};

	needs_a_fast_kernel();
	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++) {
		note("%s:", names[i]);
		COMPARE(s, HOLD + BEHIND(MANY_OTHERS)) {
			struct play play = {
				.api = api_find(names[i]), .s = s, .others = MANY_OTHERS,
			};

			situation_start(s, LEAD_OF_ALL);
			s->hog_ends = s->expiry + LONG_HOG;
			ASLEEP(OTHER) arm_others(&play);
			raised(&play);
		}
	}
}

static int by_read(int fd)
{
	return 1;
}

static int by_nested_epoll(int fd)
{
	return epoll_await(epoll_with(epoll_with(fd)));
}

static int by_poll_of_epoll(int fd)
{
	return by_poll(epoll_with(fd));
}

/* An epoll set that an ordinary task has filled */
static int set_of_another;

static int by_set_of_another(int fd)
{
	return epoll_await(set_of_another);
}

static int (*const ways[])(int fd) = {
	by_read, by_poll, by_select, by_epoll, by_nested_epoll, by_poll_of_epoll, by_set_of_another,
};

/* Somebody else, an ordinary task, arms the timerfd: before FIFO 80 looks at it, or after. */
static void armed_by_another(bool before)
{
	needs_a_fast_kernel();
	COMPARE(s, PROMPT) {
		struct play play = { .s = s, .others = OTHERS };
		int fd = timerfd_new(CLOCK_MONOTONIC, 0);

		situation_start(s, LEAD_OF_ALL);
		s->hog_ends = s->expiry + LONG_HOG;
		set_of_another = epoll_create1(0);
		ENDED(OTHER) {
			struct epoll_event event = { .events = EPOLLIN };

			require(!epoll_ctl(set_of_another, EPOLL_CTL_ADD, fd, &event), "epoll_ctl: %m");
		}
		ASLEEP(OTHER) arm_others(&play);
		if (before)
			ENDED(OTHER) timerfd_arm(fd, s->expiry, 0);
		ASLEEP(ABOVE) {
			ways[test_argument()](fd);
			if (timerfd_await(fd))
				note_woke(s);
		}
		if (!before)
			ENDED(OTHER) timerfd_arm(fd, s->expiry, 0);
	}
}

static void armed_before_it_looks(void)
{
	armed_by_another(true);
}

static void armed_before_it_waits_for_a_set(void)
{
	if (shield_is_module())
		skip("the module lifts what is read or polled");
	armed_by_another(true);
}

static void armed_while_it_looks(void)
{
	armed_by_another(false);
}

TEST_OF(armed_before_read, armed_before_it_looks, 0)
TEST_OF(armed_before_poll, armed_before_it_looks, 1)
TEST_OF(armed_before_select, armed_before_it_looks, 2)
TEST_OF(armed_before_epoll, armed_before_it_looks, 3)
TEST_OF(armed_before_nested_epoll, armed_before_it_looks, 4)
TEST_OF(armed_before_poll_of_epoll, armed_before_it_looks, 5)
TEST_OF(set_of_another_waited_for, armed_before_it_waits_for_a_set, 6)
TEST_OF(armed_while_read, armed_while_it_looks, 0)
TEST_OF(armed_while_polled, armed_while_it_looks, 1)
TEST_OF(armed_while_selected, armed_while_it_looks, 2)
TEST_OF(armed_while_waited_for, armed_while_it_looks, 3)
