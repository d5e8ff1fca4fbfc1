// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Timers that have expired and are held: what a task sees that looks at one, that they are
 * released, and in goes of bounded length (R12), that no task is starved (R11), and that
 * looking at one from another CPU while it is armed is safe.
 *
 * Only the test of the release fails on stock, where all timers expire in one go.
 */
#define _GNU_SOURCE
#include "file.h"
#include "lib/shield.h"
#include "lib/situation.h"
#include "lib/timers.h"
#include "lib/scene.h"
#include "lib/window.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define PERIOD (50 * MSEC)

static int new_timerfd(u64 expiry, u64 period)
{
	int fd = timerfd_new(CLOCK_MONOTONIC, TFD_NONBLOCK);

	timerfd_arm(fd, expiry, period);
	return fd;
}

/* Whatever is armed now is below the caller, and expires before this returns. */
static u64 low(void)
{
	pin(test_cpu);
	become(LOW(10));
	return now() + MSEC * slowness();
}

static void hold(u64 expiry)
{
	become(ABOVE);
	spin_until(expiry + MSEC * slowness());
}

static u64 to_ns(struct timespec time)
{
	return time.tv_sec * SEC + time.tv_nsec;
}

static void look_by_read(u64 period)
{
	u64 expiry = low(), ticks, end;
	int fd = new_timerfd(expiry, period);

	hold(expiry);
	for (end = now() + PROMPT, ticks = 0; !ticks && now() < end;)
		ticks = timerfd_await(fd);
	check(ticks == 1, "read(): %m, %llu ticks", ticks);
}

static void look_by_poll(u64 period)
{
	u64 expiry = low();
	struct pollfd event = { .fd = new_timerfd(expiry, period), .events = POLLIN };
	u64 end;

	hold(expiry);
	for (end = now() + PROMPT; !event.revents && now() < end;)
		poll(&event, 1, 0);
	check(event.revents == POLLIN, "poll() sees nothing");
}

/* On 6.12 the first look lets the timer expire behind it. */
TEST(looks_answer_promptly)
{
	static void (*const looks[])(u64 period) = { look_by_read, look_by_poll };

	for (unsigned int i = 0; i < ARRAY_SIZE(looks); i++) {
		looks[i](0);
		looks[i](PERIOD);
	}
}

/* How often a task that sleeps for 10 ms again and again wakes next to one that never does. */
static unsigned int wakeups(struct policy sleeper, struct policy hog, u64 length)
{
	unsigned int *count = shared_memory(sizeof(*count)), before;
	pid_t pids[2];

	pin(test_cpu);
	become(FIFO(99));
	STARTED(sleeper) {
		for (;;) {
			sleep_for(10 * MSEC);
			++*count;
		}
	}
	pids[0] = newest;
	STARTED(hog) spin_until(UINT64_MAX);
	pids[1] = newest;
	before = *count;
	sleep_for(length);
	before = *count - before;
	for (unsigned int i = 0; i < ARRAY_SIZE(pids); i++)
		end_process(pids[i]);
	return before;
}

static void check_share(struct policy sleeper, struct policy hog, u64 length)
{
	unsigned int off, on;

	/* On PREEMPT_RT they expire timers, which the hog would not let them do. */
	set_softirq_threads(0, FIFO(98));
	shield_set(false);
	off = wakeups(sleeper, hog, length);
	shield_set(true);
	on = wakeups(sleeper, hog, length);
	set_softirq_threads(0, OTHER);
	require(off, "it does not wake with the shield off");
	/* On a debug kernel, waking up takes more than the share of little weight: 24, then 6. */
	measured(2 * slowness() * on >= off, "%u wake-ups, %u with the shield off", on, off);
}

/* The fair server, or the throttling of real-time tasks, leaves it some of the CPU. */
TEST(sleeper_gets_its_share)
{
	check_share(OTHER, HOG_POLICY, 2500 * MSEC);
}

TEST(idle_policy_gets_its_share)
{
	check_share(IDLE, OTHER, 500 * MSEC);
}

#define MANY 400

/*
 * Nobody is woken, so that nothing but its bound ends a go. On PREEMPT_RT a thread expires
 * timerfds, one after the other.
 */
TEST(release_in_bounded_goes)
{
	struct window window;
	u64 expiry;

	if (kernel_is_rt())
		skip("a thread expires timerfds on PREEMPT_RT");
	allow_files(MANY);
	pin(test_cpu);
	become(LOW(10));
	window_prepare();
	expiry = now() + 10 * MSEC * slowness() * slowness();
	for (int i = 0; i < MANY; i++)
		new_timerfd(expiry, 0);
	require(now() < expiry, "armed too late");
	window_open(&window);
	hold(expiry);
	sleep_for((slowness() > 1 ? 100 : 20) * MSEC * slowness());
	window_close(&window);
	window_read(&window);
	note("%u timers expired, at most %u in an interrupt, %u with others of the kernel's",
	     window.expired, window.most, window.held);
	check(window.expired + window.held >= MANY, "%u of %u timers expired",
	      window.expired + window.held, MANY);
	/* A callback takes some 0.5 us here: in 20 us there are far fewer. */
	check(window.most <= MANY / 4, "%u timers expired in one interrupt", window.most);
}

/* How late FIFO 70 runs, whose timer is released with others and expired before them. */
static u64 late_in_a_release(unsigned int others)
{
	u64 *woke = shared_memory(sizeof(*woke)), expiry, end;

	allow_files(MANY);
	expiry = low() + 10 * MSEC * slowness() * slowness();
	end = expiry + MSEC * slowness();
	for (unsigned int i = 0; i < others; i++)
		new_timerfd(expiry, 0);
	become(ABOVE);
	ASLEEP(FIFO(70)) {
		sleep_until(expiry - 100 * USEC);
		*woke = now();
	}
	require(now() < expiry - MSEC, "armed too late");
	hold(expiry);
	sleep_for(20 * MSEC * slowness());
	require(*woke >= end, "it was not woken, or not held");
	return *woke - end;
}

/* 400 timers wake nobody. The release stops after 20 us, for the task that it has woken. */
TEST(release_stops_for_a_task)
{
	u64 alone, late;

	shield_needs_levels();
	if (kernel_is_rt())
		skip("a thread expires timerfds on PREEMPT_RT");
	alone = late_in_a_release(0);
	late = late_in_a_release(MANY);
	measured(late <= alone + PROMPT, "%llu ns late, alone %llu", late, alone);
}

/*
 * A SCHED_IDLE thread arms timers and wakes an ordinary one on its CPU, which looks at
 * them; so does one on the other CPU. churn-smp switches the shield on and off meanwhile:
 * QEMU before 8.1 may keep executing what the switch patches while CPUs really race.
 */
#define RACE_TIMERS 16
#define RACE_LENGTH (5 * SEC)

struct race {
	int fds[RACE_TIMERS];
	timer_t timers[RACE_TIMERS];
	u64 end;
};

static void *arm_again_and_again(void *argument)
{
	struct race *race = argument;

	pin(0);
	become(IDLE);
	for (unsigned int i = 0; now() < race->end; i = (i + 1) % RACE_TIMERS) {
		struct itimerspec setting = { .it_value = to_timespec(20 * USEC + i * 7 * USEC) };

		timerfd_settime(race->fds[i], 0, &setting, NULL);
		timer_settime(race->timers[i], 0, &setting, NULL);
		if (i == RACE_TIMERS / 2)
			sched_yield();
	}
	return NULL;
}

static void *look_again_and_again(struct race *race, int cpu)
{
	char path[64], text[512];

	pin(cpu);
	while (now() < race->end) {
		for (unsigned int i = 0; i < RACE_TIMERS; i++) {
			struct itimerspec setting;

			timerfd_gettime(race->fds[i], &setting);
			timer_gettime(race->timers[i], &setting);
			check(to_ns(setting.it_value) <= SEC, "%llu ns left",
			      to_ns(setting.it_value));
			snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", race->fds[i]);
			file_read(path, text, sizeof(text));
		}
		sleep_for(50 * USEC);
	}
	return NULL;
}

static void *look_on_cpu_0(void *race)
{
	return look_again_and_again(race, 0);
}

static void *look_on_cpu_1(void *race)
{
	return look_again_and_again(race, 1);
}

TEST(looks_while_others_arm)
{
	static void *(*const threads[])(void *argument) = {
		arm_again_and_again, look_on_cpu_0, look_on_cpu_1,
	};
	struct sigevent none = { .sigev_notify = SIGEV_NONE };
	pthread_t started[ARRAY_SIZE(threads)];
	struct race race = { .end = now() + RACE_LENGTH };

	needs_two_cpus();
	for (unsigned int i = 0; i < RACE_TIMERS; i++) {
		race.fds[i] = timerfd_new(CLOCK_MONOTONIC, TFD_NONBLOCK);
		require(!timer_create(CLOCK_MONOTONIC, &none, &race.timers[i]), "timers");
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(threads); i++)
		require(!pthread_create(&started[i], NULL, threads[i], &race), "no thread");
	for (unsigned int i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(started[i], NULL);
}
