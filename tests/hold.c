// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rule R11, bounded hold: no timer is held for longer than the masking task runs, or than two
 * ticks; a sleeper whose priority rises, and a timerfd that a higher task waits for, are not
 * held at all. FIFO 50 spins on CPU 0 for 600 ms; others can run on CPU 1.
 */
#define _GNU_SOURCE
#include "file.h"
#include "lib/isolation.h"
#include "lib/shield.h"
#include "lib/task.h"
#include "lib/timers.h"
#include "lib/trace.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define TICK (4 * MSEC)
#define PROMPT (200 * USEC)
#define SLEEP (100 * MSEC)
#define HOG (600 * MSEC)
#define HOUR (3600 * SEC)

/* The CPU where FIFO 50 spins */
static int hogged;

struct sleeper {
	bool other_cpu;		/* where it may run once it has armed its timer on CPU 0 */
	int timerfd;		/* it reads that instead of sleeping */
	u64 due, woke;
};

static void spin(void *unused)
{
	spin_until(now() + HOG);
}

/* Armed here, waited for on either CPU. */
static void nap(void *argument)
{
	struct sleeper *sleeper = argument;
	u64 expirations;

	if (sleeper->other_cpu)
		set_affinity(0, CPU(0) | CPU(1));
	if (sleeper->timerfd) {
		require(read(sleeper->timerfd, &expirations, sizeof(expirations)) > 0,
			"read: %m");
	} else {
		sleeper->due = now() + SLEEP;
		sleep_until(sleeper->due);
	}
	sleeper->woke = now();
}

static void check_late(const struct sleeper *sleeper, u64 bound)
{
	u64 late = sleeper->woke - sleeper->due;

	note("%llu ns late", late);
	check(sleeper->woke >= sleeper->due, "woke too early");
	check(late <= bound * slowness(), "woke %llu ns late, at most %llu were expected", late,
	      bound * slowness());
}

static void hog_and_check(const struct sleeper *sleeper, u64 bound)
{
	spawn(FIFO(50), hogged, spin, NULL);
	sleep_for(HOG);
	check_late(sleeper, bound);
}

/* There timers of ordinary tasks, and timerfds, expire in a thread that the hog outranks. */
static void not_in_a_thread(void)
{
	if (kernel_is_rt())
		skip("it expires in a thread");
}

static void two_cpus(void)
{
	if (online_cpus() < 2)
		skip("needs two CPUs");
	pin(!hogged);
	become(FIFO(99));
}

/*
 * Its timer is on the hogged CPU, it could run on the other one. A real-time task is pushed
 * there at its wake-up; an ordinary one waits until the other CPU balances, shield or not.
 */
TEST(a_sleeper_that_could_run_elsewhere)
{
	struct sleeper *sleeper = shared_memory(sizeof(*sleeper));

	two_cpus();
	sleeper->other_cpu = true;
	await_sleep(spawn(FIFO(10), hogged, nap, sleeper));
	/* The first tick that finds it held for a tick. */
	hog_and_check(sleeper, 2 * TICK + PROMPT);
}

/* By CLOCK_BOOTTIME, whose queue comes after that of CLOCK_MONOTONIC. */
static void nap_by_boottime(void *argument)
{
	struct sleeper *sleeper = argument;
	struct timespec length = to_timespec(SLEEP);

	set_affinity(0, CPU(0) | CPU(1));
	sleeper->due = now() + SLEEP;
	clock_nanosleep(CLOCK_BOOTTIME, 0, &length, NULL);
	sleeper->woke = now();
}

/* 20 other timers a tick are held with it, of which a tick expires 8: the earliest. */
TEST(a_sleeper_among_many)
{
	struct sleeper *sleeper = shared_memory(sizeof(*sleeper));
	u64 expiry = now() + SLEEP;

	pin(hogged);
	for (unsigned int i = 0; i < 400; i++)
		timerfd_arm(timerfd_create(CLOCK_MONOTONIC, 0), expiry + i * TICK / 20, 0);
	two_cpus();
	await_sleep(spawn(FIFO(10), hogged, nap_by_boottime, sleeper));
	hog_and_check(sleeper, 4 * TICK);
}

#define FLOOD 1000

static void raise_file_limit(void)
{
	struct rlimit files = { FLOOD + 64, FLOOD + 64 };

	require(!setrlimit(RLIMIT_NOFILE, &files), "setrlimit: %m");
}

/* Timerfds that expire from FIRST on, a microsecond after each other, at the caller's level. */
static void arm_many(unsigned int count, u64 first)
{
	raise_file_limit();
	for (unsigned int i = 0; i < count; i++)
		timerfd_arm(timerfd_create(CLOCK_MONOTONIC, 0), first + i * USEC, 0);
}

/* Half of what a tick serves goes by level: those of ordinary tasks before it do not count. */
TEST(a_sleeper_beside_a_flood_of_lower_ones)
{
	struct sleeper *sleeper = shared_memory(sizeof(*sleeper));

	not_in_a_thread();
	pin(hogged);
	sleeper->other_cpu = true;
	arm_many(FLOOD, now() + SLEEP - 2 * MSEC);
	two_cpus();
	await_sleep(spawn(FIFO(10), hogged, nap, sleeper));
	hog_and_check(sleeper, 2 * TICK + PROMPT);
}

/* FIFO 90 waits for it through epoll: its level stays that of the ordinary task. */
static void await_by_epoll(void *argument)
{
	struct sleeper *sleeper = argument;
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(0);

	sleeper->due = now() + SLEEP;
	require(!epoll_ctl(epoll, EPOLL_CTL_ADD, sleeper->timerfd, &event), "epoll_ctl: %m");
	timerfd_arm(sleeper->timerfd, sleeper->due, 0);
	become(FIFO(90));
	require(epoll_wait(epoll, &event, 1, -1) == 1, "epoll_wait: %m");
	sleeper->woke = now();
}

/* FIFO 40 */
static void arm_after(void *argument)
{
	const struct sleeper *sleeper = argument;

	arm_many(FLOOD / 5, sleeper->due + USEC);
	pause();
}

/* The other half goes by expiry: higher ones that expire after it do not count. */
TEST(a_timerfd_beside_a_flood_of_higher_ones)
{
	struct sleeper *sleeper = shared_memory(sizeof(*sleeper));

	not_in_a_thread();
	two_cpus();
	sleeper->timerfd = timerfd_create(CLOCK_MONOTONIC, 0);
	await_sleep(spawn(OTHER, hogged, await_by_epoll, sleeper));
	await_sleep(spawn(FIFO(40), hogged, arm_after, sleeper));
	hog_and_check(sleeper, 2 * TICK + PROMPT);
}

static void cpu_without_a_tick(void)
{
	if (access("/sys/devices/system/cpu/nohz_full", F_OK))
		skip("the kernel has no CONFIG_NO_HZ_FULL");
	/* Where it is armed a timer stays. */
	require(file_write("/proc/sys/kernel/timer_migration", "0") >= 0, "timer_migration");
	hogged = 1;
	two_cpus();
}

/* Where the tick is stopped, an interrupt of its own takes its place. */
TEST(a_sleeper_without_a_tick)
{
	struct sleeper *sleeper = shared_memory(sizeof(*sleeper));
	u64 interrupts;

	cpu_without_a_tick();
	sleeper->other_cpu = true;
	await_sleep(spawn(FIFO(10), hogged, nap, sleeper));
	spawn(FIFO(50), hogged, spin, NULL);
	sleep_until(sleeper->due - SLEEP / 2);
	interrupts = timer_interrupts(hogged);
	sleep_until(sleeper->due + HOG / 2);
	interrupts = timer_interrupts(hogged) - interrupts;
	note("%llu timer interrupts in %llu ms", interrupts, (HOG / 2 + SLEEP / 2) / MSEC);
	if (interrupts > HOG / 2 / TICK / 2)
		skip("the tick is not stopped on CPU %d", hogged);
	check_late(sleeper, 2 * TICK + PROMPT);
}

#define SLEEPERS 8

/* FIFO 60: on PREEMPT_RT each of its timers is a softirq. */
static void arm_now_and_then(void *argument)
{
	const struct sleeper *sleepers = argument;

	raise_file_limit();
	for (unsigned int i = 0; i < 200; i++)
		timerfd_arm(timerfd_create(CLOCK_MONOTONIC, 0), sleepers[0].due + i * 300 * USEC, 0);
	pause();
}

/* Softirqs that leave nothing behind do not lengthen the hold of timers that expire in none. */
TEST(a_sleeper_without_a_tick_beside_softirqs)
{
	struct sleeper *sleepers = shared_memory(SLEEPERS * sizeof(*sleepers));
	u64 interrupts, end;

	if (!kernel_is_rt())
		skip("timers of tasks expire in no softirq");
	cpu_without_a_tick();
	set_softirq_threads(hogged, FIFO(98));
	for (unsigned int i = 0; i < SLEEPERS; i++, sleep_for(TICK + 1500 * USEC)) {
		sleepers[i].other_cpu = true;
		await_sleep(spawn(FIFO(10), hogged, nap, &sleepers[i]));
	}
	await_sleep(spawn(FIFO(60), hogged, arm_now_and_then, sleepers));
	end = now() + HOG;
	spawn(FIFO(50), hogged, spin, NULL);
	sleep_until(end - HOG / 2);
	interrupts = timer_interrupts(hogged);
	sleep_until(end - SLEEP);
	interrupts = timer_interrupts(hogged) - interrupts;
	if (interrupts > SLEEP / TICK)
		skip("the tick is not stopped on CPU %d", hogged);
	for (unsigned int i = 0; i < SLEEPERS; i++)
		check_late(&sleepers[i], TICK + PROMPT);
}

static void leave_as_an_ordinary_one(void)
{
	become(OTHER);
	pin(!hogged);
}

static void arm_for_a_thread_and_spin(void *argument)
{
	struct sleeper *sleeper = argument;
	struct signal_waiter waiter = {
		.settle = leave_as_an_ordinary_one, .woke = &sleeper->woke,
	};

	signal_waiter_start(&waiter);
	sleeper->due = now() + SLEEP;
	posix_timer_arm(SIGEV_THREAD_ID, waiter.thread, sleeper->due, 0);
	spin(NULL);
}

/* FIFO 50 arms the timer of a thread that it masks, and does not let go. */
TEST(armed_by_the_task_that_masks_it)
{
	struct sleeper *sleeper = shared_memory(sizeof(*sleeper));

	not_in_a_thread();
	two_cpus();
	spawn(FIFO(50), hogged, arm_for_a_thread_and_spin, sleeper);
	sleep_for(SLEEP + HOG);
	check_late(sleeper, 2 * TICK + PROMPT);
}

/* The same where the tick is stopped: the interrupt comes when the hold ends, no other before. */
TEST(armed_without_a_tick)
{
	struct sleeper *sleeper = shared_memory(sizeof(*sleeper));
	u64 interrupts, ticks;

	not_in_a_thread();
	cpu_without_a_tick();
	spawn(FIFO(50), hogged, arm_for_a_thread_and_spin, sleeper);
	sleep_for(SLEEP / 2);
	require(sleeper->due, "it is not armed");
	ticks = timer_interrupts(hogged);
	sleep_until(sleeper->due - MSEC);
	interrupts = timer_interrupts(hogged);
	ticks = interrupts - ticks;
	sleep_until(sleeper->due + MSEC);
	interrupts = timer_interrupts(hogged) - interrupts;
	sleep_until(sleeper->due + HOG / 2);
	note("%llu timer interrupts before, %llu at its expiry", ticks, interrupts);
	if (ticks > SLEEP / TICK / 4)
		skip("the tick is not stopped on CPU %d", hogged);
	check(!interrupts, "%llu interrupts at its expiry", interrupts);
	check_late(sleeper, 2 * TICK + PROMPT);
}

static void sleep_for_ever(void *unused)
{
	struct timespec time = to_timespec(INT64_MAX - now() - TICK / 2);

	nanosleep(&time, NULL);
}

/* It expires, but the end of its hold is beyond what the kernel can count to. */
TEST(the_longest_sleep_without_a_tick)
{
	u64 interrupts;

	not_in_a_thread();
	cpu_without_a_tick();
	await_sleep(spawn(OTHER, hogged, sleep_for_ever, NULL));
	spawn(FIFO(50), hogged, spin, NULL);
	sleep_for(SLEEP);
	interrupts = timer_interrupts(hogged);
	sleep_for(SLEEP);
	interrupts = timer_interrupts(hogged) - interrupts;
	check(interrupts <= SLEEP / TICK, "%llu timer interrupts in %llu ms", interrupts,
	      SLEEP / MSEC);
}

/* At every tick, until the end. */
static void wake_at_ticks(void *argument)
{
	const struct sleeper *sleeper = argument;

	while (!sleeper->woke)
		sleep_until((now() / TICK + 1) * TICK);
}

/* What is due at a tick leaves a share of what it expires to timers that are held. */
TEST(a_timerfd_beside_sleepers_on_the_tick)
{
	struct sleeper *sleeper = shared_memory(sizeof(*sleeper));

	not_in_a_thread();
	two_cpus();
	sleeper->timerfd = timerfd_create(CLOCK_MONOTONIC, 0);
	await_sleep(spawn(OTHER, hogged, await_by_epoll, sleeper));
	for (unsigned int i = 0; i < 24; i++)
		spawn(FIFO(60), hogged, wake_at_ticks, sleeper);
	hog_and_check(sleeper, 2 * TICK + PROMPT);
}

/* The time since its expiry must not wrap. */
TEST(a_timer_that_never_expires)
{
	struct timespec longest = { .tv_sec = INT64_MAX };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	u64 expirations;

	pin(hogged);
	require(!timerfd_settime(fd, 0, &(struct itimerspec){ .it_value = longest }, NULL),
		"timerfd_settime: %m");
	spin_until(now() + 5 * TICK);
	check(read(fd, &expirations, sizeof(expirations)) < 0, "it has expired");
}

/* Before its timer expires, or while that is held. */
static void a_sleeper_that_is_raised(void)
{
	struct sleeper *sleeper = shared_memory(sizeof(*sleeper));
	bool held = test_argument();
	pid_t pid;

	not_in_a_thread();
	two_cpus();
	pid = spawn(OTHER, hogged, nap, sleeper);
	await_sleep(pid);
	spawn(FIFO(50), hogged, spin, NULL);
	sleep_until(held ? sleeper->due + 100 * USEC : sleeper->due - SLEEP / 2);
	if (sleeper->woke)
		skip("it is not held");
	if (held)
		sleeper->due = now();
	require(!set_policy(pid, FIFO(90)), "sched_setscheduler: %m");
	sleep_for(HOG);
	check_late(sleeper, PROMPT);
}

TEST_OF(a_sleeper_that_is_raised, a_sleeper_that_is_raised, false)
TEST_OF(a_held_sleeper_that_is_raised, a_sleeper_that_is_raised, true)

/* An ordinary task arms it, FIFO 90 reads it. */
TEST(a_timerfd_of_another_task)
{
	struct sleeper *sleeper = shared_memory(sizeof(*sleeper));

	not_in_a_thread();
	two_cpus();
	become(OTHER);
	pin(hogged);
	sleeper->timerfd = timerfd_create(CLOCK_MONOTONIC, 0);
	sleeper->due = now() + SLEEP;
	timerfd_arm(sleeper->timerfd, sleeper->due, 0);
	two_cpus();
	await_sleep(spawn(FIFO(90), hogged, nap, sleeper));
	hog_and_check(sleeper, PROMPT);
}

/* Arms a timer of CLOCK at EXPIRY, sets the clock forward by STEP, and waits for it. */
static void expire_at_once(clockid_t clock, u64 expiry, u64 step)
{
	int fd = timerfd_create(clock, TFD_CLOEXEC);
	u64 expirations;

	timerfd_arm(fd, expiry, 0);
	if (step)
		move_clock((s64)step);
	require(read(fd, &expirations, sizeof(expirations)) > 0, "read: %m");
	if (step)
		move_clock(-(s64)step);
	close(fd);
}

/*
 * A timer whose expiry is long past when it is armed, or when a clock is set, was not held since
 * then. The FIFO task comes and goes before, while a timer is pending.
 */
TEST(longest_hold_is_a_hold)
{
	struct shield_cpu state;

	if (!shield_is_module())
		skip("this is about the module's counters");
	pin(hogged);
	timerfd_arm(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), now() + HOUR, 0);
	become(FIFO(50));
	sleep_for(1 * MSEC);
	become(OTHER);
	sleep_for(1 * MSEC);
	expire_at_once(CLOCK_MONOTONIC, 1, 0);
	expire_at_once(CLOCK_REALTIME, 1, 0);
	expire_at_once(CLOCK_REALTIME, clock_now(CLOCK_REALTIME) + HOUR, HOUR + SEC);
	require(!shield_read(0, &state), SHIELD_STATE ": no line of CPU 0");
	check(state.longest_hold < SEC, "a hold of %llu ns is counted", state.longest_hold);
}
