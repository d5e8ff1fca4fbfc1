// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Several known culprits at once: timers of several processes expire while a FIFO 50 task
 * runs, a FIFO 80 task preempts it, and blame looks on. Then one timer API after another;
 * the shield, which leaves none of these timers an interrupt of its own; and what blame costs.
 */
#define _GNU_SOURCE
#include "file.h"
#include "lib/blame.h"
#include "lib/command.h"
#include "lib/shield.h"
#include "lib/timers.h"
#include "lib/uring.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TIMERFDS 400
#define SLEEPERS 50
#define POSIX_TIMERS 300
#define PREEMPTIONS 200
#define WAITERS 10		/* by each API */

enum { TIMERFD, SLEEPER, POSIX, PREEMPTER };
enum { HOG = 1 };

static void arm_timerfds(unsigned int load)
{
	int fds[TIMERFDS];

	for (unsigned int i = 0; i < TIMERFDS; i++) {
		fds[i] = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
		timerfd_arm(fds[i], blame_expiry(i, TIMERFDS), 0);
	}
	blame_ready();
	blame_await_end();
	for (unsigned int i = 0; i < TIMERFDS; i++) {
		u64 expired;

		if (read(fds[i], &expired, sizeof(expired)) == sizeof(expired))
			truth->loads[load].count++;
	}
}

static void *sleep_once(void *number)
{
	set_policy(0, FIFO(30));
	blame_ready();
	sleep_until(blame_expiry((uintptr_t)number, SLEEPERS) + 100 * USEC);
	truth->loads[SLEEPER].count++;
	return NULL;
}

static void start_sleepers(unsigned int load)
{
	pthread_t threads[SLEEPERS];

	for (uintptr_t i = 0; i < SLEEPERS; i++)
		pthread_create(&threads[i], NULL, sleep_once, (void *)i);
	for (unsigned int i = 0; i < SLEEPERS; i++)
		pthread_join(threads[i], NULL);
}

static void arm_posix_timers(unsigned int load)
{
	struct timespec none = { 0 };
	sigset_t set = block_signal(SIGRTMIN);

	for (unsigned int i = 0; i < POSIX_TIMERS; i++)
		posix_timer_arm(SIGEV_SIGNAL, 0, blame_expiry(i, POSIX_TIMERS) + 200 * USEC, 0);
	blame_ready();
	blame_await_end();
	while (sigtimedwait(&set, NULL, &none) == SIGRTMIN)
		truth->loads[load].count++;
}

static void preempt(unsigned int load)
{
	set_policy(0, FIFO(80));
	blame_ready();
	for (unsigned int i = 0; i < PREEMPTIONS; i++) {
		sleep_until(blame_expiry(i, PREEMPTIONS) + 300 * USEC);
		spin_until(now() + 20 * USEC);
		truth->loads[load].count++;
	}
}

/* How blame calls what apis[] has; "": as they are called there. */
static const struct {
	const char *api, *how;
} calls[] = {
	{ "clock_nanosleep", "" }, { "nanosleep", "clock_nanosleep" }, { "futex", "" },
	{ "poll", "" }, { "ppoll", "" }, { "select", "pselect6" }, { "pselect", "pselect6" },
	{ "epoll_wait", "" }, { "epoll_pwait2", "" }, { "sigtimedwait", "rt_sigtimedwait" },
	{ "mq_timedreceive", "" },
	{ "semtimedop", "" }, { "io_getevents", "" }, { "timerfd", "" },
	{ "timerfd_realtime", "timerfd" }, { "timer_settime_signal", "POSIX timer" },
	{ "timer_settime_thread_id", "POSIX timer" }, { "setitimer", "itimer" },
	{ "io_uring", "io_uring timeout" },
};

static const char *how_of(unsigned int load)
{
	return *calls[load].how ? calls[load].how : calls[load].api;
}

static void wait_by_api(unsigned int load)
{
	bool uring = !strcmp(calls[load].api, "io_uring");
	const struct api *api = uring ? &uring_api : api_find(calls[load].api);

	for (unsigned int i = 0; i < WAITERS; i++) {
		u64 due, expiry = blame_expiry(ARRAY_SIZE(calls) * i + load,
					       ARRAY_SIZE(calls) * WAITERS);

		if (fork())
			continue;
		set_policy(0, FIFO(30));
		blame_ready();
		if (!api->wait(api, expiry, &due))
			truth->loads[load].count++;
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
}

/* The victim waits all the time, for more events than blame keeps. */
static void spin_above(unsigned int load)
{
	set_policy(0, FIFO(60));
	blame_ready();
	sleep_until(blame_expiry(0, 1));
	spin_until(now() + BLAME_SPIN * 8 / 10);
	truth->loads[load].count++;
}

/* Hundreds of them interrupt each millisecond. */
static struct blame_scenario scenarios[] = {
	{
		.name = "together", .victim = FIFO(50),
		.loads = {
			[TIMERFD] = { "timerfd", arm_timerfds, 1 },
			[SLEEPER] = { "sleeper", start_sleepers, SLEEPERS },
			[POSIX] = { "posix", arm_posix_timers, 1 },
			[PREEMPTER] = { "preempter", preempt, 1 },
		},
	},
	{ .name = "apis", .victim = FIFO(50) },
	{
		.name = "wait", .victim = FIFO(50),
		.loads = {
			[TIMERFD] = { "timerfd", arm_timerfds, 1 },
			[HOG] = { "hog", spin_above, 1 },
		},
	},
	{
		.name = "timerfds", .victim = FIFO(50),
		.loads = { [TIMERFD] = { "timerfd", arm_timerfds, 1 } },
	},
	{ 0 },
};

/* MASKED: "yes" for those of ordinary tasks, "levels" for those of real-time ones. */
static double timers_of(const char *victim, unsigned int load, const char *how,
			const char *masked, bool by_thread)
{
	return blame_sum(victim, (struct blame_wanted){
		.kind = "timer", .how = how, .masked = masked,
		.comm = by_thread ? NULL : truth->loads[load].name,
		.thread = by_thread ? truth->loads[load].pid : 0,
	}, "count");
}

/* If the sum is wrong, these tell where. */
static void note_sums(const char *victim)
{
	static const char * const kinds[] = {
		"timer", "kernel-timer", "task", "switch", "page-fault",
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct blame_wanted wanted = { .kind = kinds[i] };

		note("%s: %.0f, %.1f us", kinds[i], blame_sum(victim, wanted, "count"),
		     blame_sum(victim, wanted, "total_ns") / 1000);
	}
}

static void check_names(void)
{
	/* there these timers wait for a thread of the kernel, which the victim outranks */
	bool soft = kernel_is_rt();
	const char *victim = blame_run("together");
	double taken = blame_number(victim, "taken_ns");

	blame_check("timerfds", timers_of(victim, TIMERFD, "timerfd", "yes", true),
		    soft ? 0 : truth->loads[TIMERFD].count, 1);
	blame_check("sleepers", timers_of(victim, SLEEPER, "clock_nanosleep", "levels", false),
		    truth->loads[SLEEPER].count, 1);
	blame_check("POSIX timers", timers_of(victim, POSIX, "POSIX timer", "yes", true),
		    soft ? 0 : truth->loads[POSIX].count, 1);
	blame_check("preempting task", blame_sum(victim, (struct blame_wanted){
		.kind = "task", .masked = "no", .comm = truth->loads[PREEMPTER].name,
	}, "count"), truth->loads[PREEMPTER].count, 1);
	check(blame_sum(victim, (struct blame_wanted){ .kind = "kernel-timer" }, "count") > 0, "no row for the tick");
	note_sums(victim);
	note("taken: blame %.1f us, victim %.1f us in %u gaps; unexplained %.1f us", taken / 1000,
	     (double)truth->gap_total / 1000, truth->gaps,
	     blame_sum(victim, (struct blame_wanted){ .kind = "unexplained" }, "total_ns") / 1000);
	check(taken > truth->gap_total * 0.98 && taken < truth->gap_total * 1.02,
	      "blame says that %.1f us were taken, the victim measured %.1f us", taken / 1000,
	      (double)truth->gap_total / 1000);
}

TEST(names_all)
{
	shield_set(false);
	check_names();
}

TEST(explains_waits)
{
	double taken, unexplained;
	const char *victim;

	shield_set(false);
	victim = blame_run("wait");
	taken = blame_number(victim, "taken_ns");
	unexplained = blame_sum(victim, (struct blame_wanted){ .kind = "unexplained" }, "total_ns");
	note("taken: %.1f us, unexplained %.1f us", taken / 1000, unexplained / 1000);
	check(taken > BLAME_SPIN * 7 / 10, "%.1f us were taken", taken / 1000);
	check(unexplained < taken / 100, "%.1f us of %.1f are unexplained", unexplained / 1000,
	      taken / 1000);
	blame_check("timerfds", timers_of(victim, TIMERFD, "timerfd", "yes", true),
		    kernel_is_rt() ? 0 : truth->loads[TIMERFD].count, 1);
}

/* The tick, which interrupts anyway, expires what was held for a tick (rule R11). */
TEST(shield_leaves_ticks)
{
	unsigned int interruptions = BLAME_SPIN / TICK + PREEMPTIONS;

	if (!shield_present())
		skip("this kernel has no shield");
	shield_set(true);
	check_names();
	/* Only levels mask the real-time ones. */
	if (!shield_has_levels())
		interruptions += truth->loads[SLEEPER].count;
	check(truth->gaps < interruptions * 102 / 100, "%u gaps, not %u", truth->gaps, interruptions);
}

/* Else threads of the kernel expire it on PREEMPT_RT. */
static bool is_sleep(const char *how)
{
	return strcmp(how, "timerfd") && strcmp(how, "POSIX timer") && strcmp(how, "itimer") &&
	       strcmp(how, "io_uring timeout");
}

TEST(names_apis)
{
	const char *victim;

	shield_set(false);
	victim = blame_run("apis");
	for (unsigned int i = 0; i < ARRAY_SIZE(calls); i++) {
		const char *how = how_of(i);
		bool sleeps = is_sleep(how), soft = kernel_is_rt() && !sleeps;

		if (!truth->loads[i].count) {
			note("%s: not in this kernel", calls[i].api);
			continue;
		}
		blame_check(calls[i].api, timers_of(victim, i, how, "levels", false),
			    soft ? 0 : truth->loads[i].count, 0);
	}
}

/* In instructions, an interruption by a timer or the tick. */
TEST(costs_little)
{
	double added;
	struct blame_truth without;

	shield_set(false);
	without = blame_without("timerfds");
	blame_run("timerfds");
	added = ((double)truth->gap_total - without.gap_total) / without.gaps;
	note("%u interruptions of %.0f without blame, which adds %.0f", without.gaps,
	     (double)without.gap_total / without.gaps, added);
	check(added < 3600, "blame adds %.0f to an interruption", added);
}

int main(int argc, char **argv)
{
	static const char * const names[ARRAY_SIZE(calls)] = {
		"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q",
		"r", "s",
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(calls); i++)
		scenarios[1].loads[i] = (struct blame_load){ names[i], wait_by_api, WAITERS };
	return blame_main(argc, argv, scenarios);
}
