// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rule R5: priorities change, of tasks that sleep on a timer and of the running
 * one, by system calls and by inheritance, from this CPU and from another.
 *
 * Tests of lateness pass on stock, tests of levels and of masking fail there.
 * Where a sleeper's timer keeps the level that it was armed at, those of sleepers
 * fail.
 */
#define _GNU_SOURCE
#include "lib/scene.h"
#include "lib/shield.h"
#include "lib/situation.h"
#include "lib/timers.h"
#include "lib/uring.h"
#include "lib/window.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAR (3600 * SEC)

static void change(pid_t pid, struct policy policy)
{
	int ret = set_policy(pid, policy);

	require(!ret, "set_policy: %s", strerror(-ret));
}

/* Sleepers, whatever call they sleep in. */
static void sleep_by(const struct api *api, struct situation *s)
{
	u64 due;
	int ret = api->wait(api, s->expiry, &due);

	woken(s);
	/* In whole milliseconds, or microseconds: what is asked for is not to be later. */
	s->expiry = due;
	require(!ret, "%s: %s", api->name, strerror(-ret));
}

/* Those of apis[], and more; NULL after the last. */
static const struct api *nth_api(unsigned int number)
{
	if (number < api_count)
		return &apis[number];
	number -= api_count;
	if (number < polled_api_count)
		return &polled_apis[number];
	return number == polled_api_count ? &uring_api : NULL;
}

static bool is_sleep(const struct api *api)
{
	return !strstr(api->name, "timer") && api != &uring_api;
}

/* Sleeps and signals follow their task, timerfds and io_uring do not. */
static u64 tolerance(const struct api *api)
{
	return strstr(api->name, "timerfd") || api == &uring_api ? TOLERANCE_HELD : TOLERANCE;
}

static void change_a_sleeper(struct situation *s, const struct api *api, struct policy from,
			     struct policy to)
{
	ASLEEP(from) sleep_by(api, s);
	change(newest, to);
}

TEST(sleeper_that_is_raised_is_on_time)
{
	const struct api *api;

	for (unsigned int i = 0; (api = nth_api(i)); i++) {
		note("%s:", api->name);
		COMPARE(s, tolerance(api)) change_a_sleeper(s, api, BELOW, ABOVE);
	}
}

/* On PREEMPT_RT an ordinary task's sleep ends by a thread that waits for the hog, as on stock. */
static void skip_on_rt(void)
{
	if (kernel_is_rt())
		skip("a thread ends the sleep of an ordinary task on PREEMPT_RT");
}

static const char * const ordinary_sleeps[] = {
	"clock_nanosleep", "futex", "ppoll", "epoll_pwait2",
};

/* A distribution's kernel, which is what a module has, executes more for each call. */
static void check_ordinary_sleep(const struct api *api, struct situation *s)
{
	u64 late = situation_lateness(s);

	measured(late <= (shield_is_module() ? 3 : 2) * TOLERANCE, "%s: %llu ns late", api->name,
		 late);
}

static void check_ordinary_sleeper(const char *name, struct policy to)
{
	const struct api *api = api_find(name);
	struct situation *s = situation_new();

	change_a_sleeper(s, api, OTHER, to);
	check_ordinary_sleep(api, s);
}

TEST(ordinary_sleeper_that_is_raised_is_on_time)
{
	skip_on_rt();
	for (unsigned int i = 0; i < ARRAY_SIZE(ordinary_sleeps); i++)
		check_ordinary_sleeper(ordinary_sleeps[i], ABOVE);
	/* The highest is 0 inside the kernel, which 7.3 also means by "not known". */
	check_ordinary_sleeper("epoll_pwait2", FIFO(99));
}

/*
 * An ordinary sleeper that is overdue when it rises, its timer masked: it expires at
 * once, whatever else runs.
 */
TEST(overdue_sleeper_that_is_raised_runs_at_once)
{
	static const struct policy raisers[] = { HOG_POLICY, OTHER };
	u64 margin = 300 * USEC * slowness();

	skip_on_rt();
	for (unsigned int i = 0; i < ARRAY_SIZE(raisers); i++) {
		u64 *raised = shared_memory(sizeof(*raised)), from;
		struct situation *s = situation_new();
		pid_t sleeper;

		ASLEEP(OTHER) sleep_to_expiry(s);
		sleeper = newest;
		ASLEEP(raisers[i]) {
			sleep_until(s->expiry - margin);
			spin_until(s->expiry + margin);
			*raised = now();
			change(sleeper, ABOVE);
			spin_until(s->hog_ends);
		}
		require(now() < s->expiry - MSEC, "prepared too late");
		sleep_until(s->hog_ends + LEAD);
		require(*raised && s->woke >= s->expiry, "lost, or early");
		from = *raised < s->woke ? *raised : s->woke;
		measured(s->woke - from <= 2 * TOLERANCE, "woke %llu ns after policy %d raised it",
			 s->woke - from, raisers[i].policy);
	}
}

/* FIFO-80 sleepers are lowered to FIFO 10: they do not interrupt FIFO 50. */
static void play_lowered_sleepers(struct window *window)
{
	struct situation *s = shared_memory(api_count * sizeof(*s));
	u64 start;

	pin(test_cpu);
	window_prepare();
	become(FIFO(99));
	start = now() + 2 * LEAD * slowness();
	for (unsigned int i = 0; i < api_count; i++) {
		if (!is_sleep(&apis[i]))
			continue;
		s[i].expiry = start + i * 200 * USEC;
		change_a_sleeper(&s[i], &apis[i], ABOVE, LOW(10));
	}
	require(now() < start, "prepared too late");
	become(HOG_POLICY);
	sleep_for(1);
	window_spin(window, start + api_count * 200 * USEC + 2 * MSEC);
	sleep_for(20 * MSEC * slowness());
	window_read(window);
	for (unsigned int i = 0; i < api_count; i++)
		check(s[i].woke >= s[i].expiry, "%s: lost, or early", apis[i].name);
	become(OTHER);
}

TEST(sleepers_that_are_lowered_are_masked)
{
	if (shield_is_module() && !shield_has_levels())
		skip("the module leaves to the kernel what real-time tasks arm");
	check_masked(play_lowered_sleepers, "lowered sleepers");
}

/* By every call that there is; nice values make no difference. */
TEST(level_follows_a_sleepers_policy)
{
	struct sched_param param;

	for (int cpu = 0; cpu < online_cpus(); cpu++) {
		u64 expiry;
		pid_t pid;

		pin(0);
		become(FIFO(99));
		param.sched_priority = 44;
		expiry = now() + FAR + cpu;
		ASLEEP(OTHER, cpu) sleep_until(expiry);
		pid = newest;
		expect_level("hrtimer_wakeup", expiry, LEVEL_FAIR, "before");
		require(!sched_setscheduler(pid, SCHED_RR, &param), "sched_setscheduler");
		expect_level("hrtimer_wakeup", expiry, LEVEL_FIFO + 44, "sched_setscheduler");
		param.sched_priority = 45;
		require(!sched_setparam(pid, &param), "sched_setparam");
		expect_level("hrtimer_wakeup", expiry, LEVEL_FIFO + 45, "sched_setparam");
		change(pid, IDLE);
		expect_level("hrtimer_wakeup", expiry, LEVEL_FAIR, "sched_setattr");
		change(pid, BATCH(3));
		require(!setpriority(PRIO_PROCESS, pid, 19), "setpriority");
		expect_level("hrtimer_wakeup", expiry, LEVEL_FAIR, "nice 19");
		require(!setpriority(PRIO_PROCESS, pid, -20), "setpriority");
		expect_level("hrtimer_wakeup", expiry, LEVEL_FAIR, "nice -20");
		end_process(pid);
	}
}

/*
 * Priority inheritance: a sleeper that holds a lock ranks with its waiters,
 * through a chain of locks too, and sinks when the waiter gives up.
 */
static void wait_for(pthread_mutex_t *mutex, struct situation *s)
{
	pthread_mutex_lock(mutex);
	woken(s);
	pthread_mutex_unlock(mutex);
}

/* Timers that signal outlast the inheritance: they rank by their owner's own priority. */
static bool inherits(const struct api *api)
{
	return strncmp(api->name, "timer_settime", strlen("timer_settime")) &&
	       strcmp(api->name, "setitimer");
}

TEST(boosted_sleepers_timer_is_boosted)
{
	const struct api *api;

	for (unsigned int i = 0; (api = nth_api(i)); i++) {
		/* On slow kernels setting up a ring may take longer than LEAD. */
		if (!inherits(api) || (slowness() > 1 && api == &uring_api))
			continue;
		note("%s:", api->name);
		COMPARE(s, tolerance(api)) {
			pthread_mutex_t *mutex = pi_mutex_new();

			ASLEEP(BELOW) {
				pthread_mutex_lock(mutex);
				api->wait(api, s->expiry, &s->expiry);
				pthread_mutex_unlock(mutex);
			}
			ASLEEP(ABOVE) wait_for(mutex, s);
		}
	}
}

TEST(boost_follows_a_chain_of_locks)
{
	COMPARE(s, TOLERANCE) {
		pthread_mutex_t *first = pi_mutex_new(), *second = pi_mutex_new();

		situation_start(s, 2 * LEAD);
		ASLEEP(BELOW) {
			pthread_mutex_lock(first);
			sleep_until(s->expiry);
			pthread_mutex_unlock(first);
		}
		ASLEEP(FIFO(20)) {
			pthread_mutex_lock(second);
			pthread_mutex_lock(first);
			pthread_mutex_unlock(first);
			pthread_mutex_unlock(second);
		}
		ASLEEP(ABOVE) wait_for(second, s);
	}
}

TEST(ordinary_sleeper_that_has_inherited_is_on_time)
{
	skip_on_rt();
	for (unsigned int i = 0; i < ARRAY_SIZE(ordinary_sleeps); i++) {
		const struct api *api = api_find(ordinary_sleeps[i]);
		pthread_mutex_t *mutex = pi_mutex_new();
		pthread_barrier_t *held = barrier_new();
		struct situation *s = situation_new();
		pid_t holder;

		/* It goes to sleep when FIFO 80 waits for it already. */
		STARTED(OTHER) {
			pthread_mutex_lock(mutex);
			pthread_barrier_wait(held);
			spin_until(s->expiry - LEAD / (slowness() > 1 ? 2 : 4));
			api->wait(api, s->expiry, &s->expiry);
			pthread_mutex_unlock(mutex);
		}
		holder = newest;
		pthread_barrier_wait(held);
		ASLEEP(ABOVE) wait_for(mutex, s);
		await_sleep(holder);
		check_ordinary_sleep(api, s);
	}
}

TEST(level_follows_inheritance)
{
	pthread_mutex_t *mutex = pi_mutex_new();
	pid_t waiters[2];
	u64 expiry;

	pin(test_cpu);
	become(FIFO(99));
	expiry = now() + FAR;
	ASLEEP(OTHER) {
		pthread_mutex_lock(mutex);
		sleep_until(expiry);
	}
	expect_level("hrtimer_wakeup", expiry, LEVEL_FAIR, "nobody waits");
	for (unsigned int i = 0; i < 2; i++) {
		ASLEEP(FIFO(30 + i)) pthread_mutex_lock(mutex);
		waiters[i] = newest;
		expect_level("hrtimer_wakeup", expiry, LEVEL_FIFO + 30 + i, "boosted");
	}
	change(waiters[0], FIFO(70));
	expect_level("hrtimer_wakeup", expiry, LEVEL_FIFO + 70, "its waiter was raised");
	for (unsigned int i = 0; i < 2; i++) {
		end_process(waiters[i]);
		expect_level("hrtimer_wakeup", expiry, i ? LEVEL_FAIR : LEVEL_FIFO + 31,
			     "a waiter is gone");
	}
}

/* A task raises itself to FIFO 90: a timer below that no longer interrupts it. */
static void raise_oneself_and_spin(struct scene *scene)
{
	become(FIFO(90));
	window_spin(&scene->window, scene->start + scene->length);
}

TEST(raised_by_itself)
{
	struct scene *scene = scene_new(1);

	scene->owner[0].policy = LOW(50);
	scene->runner = LOW(10);
	scene->run = raise_oneself_and_spin;
	scene_run(scene);
	check_undisturbed(&scene->window, "it became FIFO 90");
	check_served(scene);
}

/*
 * The running task is lowered with an expired FIFO-50 timer masked: that one
 * expires at once.
 */
static void check_lowering(struct policy to)
{
	u64 *lowered = shared_memory(sizeof(*lowered));
	struct situation *s = situation_new();

	ASLEEP(HOG_POLICY) sleep_to_expiry(s);
	STARTED(FIFO(90)) {
		spin_until(s->expiry + 2 * MSEC * slowness());
		*lowered = now();
		become(to);
		spin_until(s->hog_ends);
	}
	sleep_until(s->hog_ends + LEAD);
	require(s->woke && *lowered, "lost");
	require(s->woke > *lowered, "FIFO 90 did not keep FIFO 50 from running");
	check(s->woke <= *lowered + 2 * TOLERANCE,
	      "FIFO 50 ran %llu ns after FIFO 90 had lowered itself", s->woke - *lowered);
}

TEST(lowered_by_itself)
{
	static const struct policy to[] = { FIFO(10), RR(49), OTHER, IDLE };

	for (unsigned int i = 0; i < ARRAY_SIZE(to); i++)
		check_lowering(to[i]);
}

/* FIFO 90 on CPU 1 is lowered by a task on CPU 0. */
TEST(lowered_by_another_cpu)
{
	struct situation *s;
	u64 lowered;

	needs_two_cpus();
	test_cpu = 1;
	s = situation_new();
	pin(0);
	ASLEEP(HOG_POLICY) sleep_to_expiry(s);
	s->hog_ends = s->expiry + 80 * MSEC * slowness();
	STARTED(FIFO(90)) spin_until(s->hog_ends);
	sleep_until(s->expiry + 25 * MSEC * slowness());
	require(!s->woke, "FIFO 90 did not keep FIFO 50 from running");
	lowered = now();
	change(newest, BELOW);
	sleep_until(s->hog_ends + LEAD);
	check(s->woke && s->woke <= lowered + TOLERANCE_SMP,
	      "FIFO 50 ran %lld ns after FIFO 90 was lowered", s->woke - lowered);
}

/*
 * A task that may run on both CPUs sleeps on one where FIFO 50 computes when it is due: it runs on
 * the other. By levels its timer waits for the tick, as limits.md says.
 */
TEST(unpinned_sleeper_runs_on_the_other_cpu)
{
	needs_two_cpus();
	test_cpu = 1;
	COMPARE_SMP(s, shield_has_levels() ? TOLERANCE_HELD : TOLERANCE_SMP) {
		ASLEEP(BELOW) {
			cpu_set_t both;

			CPU_ZERO(&both);
			CPU_SET(0, &both);
			CPU_SET(1, &both);
			require(!sched_setaffinity(0, sizeof(both), &both), "affinity: %m");
			sleep_to_expiry(s);
		}
	}
}

/* A lock of the immediate priority ceiling protocol: whoever takes it is FIFO 80 at once. */
static void take_lock_of_ceiling_80(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attributes;
	struct sched_param owner;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_PROTECT);
	pthread_mutexattr_setprioceiling(&attributes, 80);
	require(!pthread_mutex_init(lock, &attributes) && !pthread_mutex_lock(lock),
		"no lock with a ceiling");
	sched_getparam(0, &owner);
	require(owner.sched_priority == 80, "its owner has priority %d", owner.sched_priority);
}

TEST(owner_at_a_ceiling_sleeps_in_time)
{
	COMPARE(s, TOLERANCE) {
		ASLEEP(BELOW) {
			pthread_mutex_t lock;

			take_lock_of_ceiling_80(&lock);
			sleep_to_expiry(s);
		}
	}
}

/* FIFO 50's sleep ends while FIFO 10 computes at its ceiling, and wakes it when that is left. */
TEST(ceiling_that_is_left_releases)
{
	COMPARE(s, TOLERANCE) {
		u64 *left = shared_memory(sizeof(*left));

		ASLEEP(HOG_POLICY) sleep_to_expiry(s);
		ENDED(BELOW) {
			pthread_mutex_t lock;

			sleep_until(s->expiry - MSEC * slowness());
			take_lock_of_ceiling_80(&lock);
			spin_until(s->expiry + MSEC * slowness());
			*left = now();
			pthread_mutex_unlock(&lock);
		}
		require(s->woke > *left, "the ceiling did not keep FIFO 50 from running");
		s->late = s->woke - *left;
	}
}

/*
 * What runs on CPU 1, an ordinary task, rises from there on by a call on CPU 0, or by a lock for
 * which a task on CPU 0 waits: sleepers below it no longer interrupt it.
 */
#define RISE_SLEEPERS 5

static void play_rise(struct window *window)
{
	pthread_mutex_t *mutex = pi_mutex_new();
	pthread_barrier_t *spins = barrier_new();
	bool by_lock = test_argument();
	pid_t spinner;
	u64 start;

	test_cpu = 1;
	pin(0);
	become(FIFO(99));
	window_prepare();
	start = now() + 2 * LEAD;
	for (unsigned int i = 0; i < RISE_SLEEPERS; i++)
		ASLEEP(LOW(30)) sleep_until(start + i * MSEC + 500 * USEC);
	STARTED(OTHER) {
		pthread_mutex_lock(mutex);
		window_spin(window, now() + 100 * USEC);
		pthread_barrier_wait(spins);
		spin_until(start);
		window_spin(window, start + (RISE_SLEEPERS + 1) * MSEC);
		pthread_mutex_unlock(mutex);
		pause();
	}
	spinner = newest;
	pthread_barrier_wait(spins);
	ASLEEP(ABOVE, 0) {
		if (by_lock)
			pthread_mutex_lock(mutex);
		else
			sleep_until(start);
	}
	if (!by_lock)
		change(spinner, FIFO(60));
	require(now() < start, "prepared too late");
	sleep_until(start + 2 * RISE_SLEEPERS * MSEC);
	end_process(spinner);
	while (waitpid(-1, NULL, 0) > 0)
		;
	window_read(window);
}

static void raised_by_another_cpu(void)
{
	struct window *window = shared_memory(sizeof(*window));

	needs_two_cpus();
	needs_a_fast_kernel();
	if (kernel_is_rt() && !shield_has_levels())
		skip("timers of ordinary tasks expire in a thread");
	shield_set(false);
	play_rise(window);
	require_disturbed(window, "with the shield off");
	shield_set(true);
	play_rise(window);
	/* For what the device was set for when it rose. */
	measured(window->foreign <= 1 && !window->expired, "%u interruptions, %u timers expired",
		 window->foreign, window->expired);
}

TEST_OF(raised_by_another_cpu, raised_by_another_cpu, false)
TEST_OF(boosted_by_another_cpu, raised_by_another_cpu, true)

/*
 * A task whose timer expires at the instant of thousands of others of its user is raised: that
 * takes no longer than without these.
 */
#define SAME 3000

static u64 time_of_change(unsigned int others)
{
	u64 expiry, start;

	allow_files(SAME);
	pin(test_cpu);
	become(OTHER);
	expiry = now() + FAR;
	/* A sleeper's expiry is later by its slack, 1 ns. */
	for (unsigned int i = 0; i < others / 2; i++)
		timerfd_arm(timerfd_new(CLOCK_MONOTONIC, 0), expiry + 1, 0);
	become(FIFO(99));
	ASLEEP(OTHER) sleep_until(expiry);
	become(OTHER);
	for (unsigned int i = others / 2; i < others; i++)
		timerfd_arm(timerfd_new(CLOCK_MONOTONIC, 0), expiry + 1, 0);
	become(FIFO(99));
	start = now();
	change(newest, FIFO(10));
	start = now() - start;
	end_process(newest);
	return start;
}

TEST(others_of_the_same_expiry_cost_nothing)
{
	u64 alone, among;

	time_of_change(0);
	alone = time_of_change(0);
	among = time_of_change(SAME);
	measured(among <= 2 * alone + 10 * USEC,
		 "sched_setattr() takes %llu ns, %llu ns among %u timers of one expiry", alone, among,
		 SAME);
}

/*
 * A process that may be real-time, at FIFO 10 or 11, has a thousand signal timers and changes its
 * priority again and again. These follow, but not all of them while interrupts are kept out: a
 * FIFO-99 task that sleeps and wakes meanwhile is on time.
 */
#define FOLLOWERS 1000
#define WAKE_UPS 300

static u64 lateness_beside_changes(void)
{
	struct rlimit signals = { FOLLOWERS + 64, FOLLOWERS + 64 };
	pthread_barrier_t *armed = barrier_new();
	u64 worst = 0, next;

	pin(test_cpu);
	become(FIFO(99));
	STARTED(FIFO(10)) {
		require(!setrlimit(RLIMIT_SIGPENDING, &signals), "setrlimit: %m");
		for (unsigned int i = 0; i < FOLLOWERS; i++)
			posix_timer_arm(SIGEV_SIGNAL, 0, now() + FAR + i, 0);
		pthread_barrier_wait(armed);
		for (unsigned int i = 0;; i++)
			change(0, FIFO(10 + i % 2));
	}
	pthread_barrier_wait(armed);
	next = now();
	for (unsigned int i = 0; i < WAKE_UPS; i++) {
		u64 late;

		next += 537 * USEC;
		sleep_until(next);
		late = now() - next;
		if (late > worst)
			worst = late;
	}
	end_process(newest);
	return worst;
}

TEST(timers_that_follow_delay_nobody)
{
	shield_set(false);
	lateness_beside_changes();
	/* A distribution's kernel executes more for each of them. */
	late_at_most(lateness_beside_changes, (shield_is_module() ? 2 : 1) * TOLERANCE);
}

static void *change_own_priority(void *end)
{
	pin(!test_cpu);
	for (unsigned int i = 0; now() < *(u64 *)end; i++)
		become(FIFO(1 + i % 2));
	return NULL;
}

/* The timers of a process follow while another thread arms one of them, again and again. */
TEST(timer_that_is_being_armed_follows)
{
	struct itimerspec hour = { .it_value.tv_sec = 3600 };
	u64 end = now() + SEC;
	pthread_t thread;
	timer_t timer;

	needs_two_cpus();
	pin(test_cpu);
	require(!timer_create(CLOCK_MONOTONIC, NULL, &timer), "timer_create: %m");
	thread = thread_new(change_own_priority, &end);
	while (now() < end)
		require(!timer_settime(timer, 0, &hour, NULL), "timer_settime: %m");
	pthread_join(thread, NULL);
}
