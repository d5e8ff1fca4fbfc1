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

/*
 * Sleepers, whatever call they sleep in.
 */
struct sleep {
	struct situation *s;
	const struct api *api;
	int ret;
};

static void sleep_by_api(void *argument)
{
	struct sleep *sleep = argument;
	u64 due;

	sleep->ret = sleep->api->wait(sleep->api, sleep->s->expiry, &due);
	sleep->s->woke = now();
	/* In whole milliseconds, or microseconds: what is asked for is not to be later. */
	sleep->s->expiry = due;
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

struct raise {
	const struct api *api;
	struct policy from, to;
};

static u64 raised_sleeper(void *argument)
{
	struct sleep *sleep = shared_memory(sizeof(*sleep));
	struct situation *s = situation_new();
	struct raise *raise = argument;
	u64 late;

	*sleep = (struct sleep){ .s = s, .api = raise->api };
	s->waiter = spawn(raise->from, test_cpu, sleep_by_api, sleep);
	await_sleep(s->waiter);
	change(s->waiter, raise->to);
	late = situation_lateness(s);
	require(!sleep->ret, "%s: %s", sleep->api->name, strerror(-sleep->ret));
	return late;
}

TEST(sleeper_that_is_raised_is_on_time)
{
	struct raise raise = { .from = BELOW, .to = ABOVE };

	for (unsigned int i = 0; (raise.api = nth_api(i)); i++) {
		note("%s:", raise.api->name);
		compare(raised_sleeper, &raise, tolerance(raise.api));
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
static void check_ordinary_sleep(const struct api *api, u64 late)
{
	note("%s: %llu ns late", api->name, late);
	check(late <= (shield_is_module() ? 3 : 2) * TOLERANCE, "%s: %llu ns late", api->name,
	      late);
}

TEST(ordinary_sleeper_that_is_raised_is_on_time)
{
	struct raise raise = { .from = OTHER, .to = ABOVE };

	skip_on_rt();
	for (unsigned int i = 0; i < ARRAY_SIZE(ordinary_sleeps); i++) {
		raise.api = api_find(ordinary_sleeps[i]);
		check_ordinary_sleep(raise.api, raised_sleeper(&raise));
	}
	/* The highest is 0 inside the kernel, which 7.3 also means by "not known". */
	raise.to = FIFO(99);
	check_ordinary_sleep(raise.api, raised_sleeper(&raise));
}

/*
 * An ordinary sleeper that is overdue when it rises, its timer masked: it expires at
 * once, whatever else runs.
 */
struct late_raise {
	struct situation *s;
	u64 raised;
};

static void spin_and_raise(void *argument)
{
	struct late_raise *raise = argument;
	u64 margin = 300 * USEC * slowness();

	sleep_until(raise->s->expiry - margin);
	spin_until(raise->s->expiry + margin);
	raise->raised = now();
	change(raise->s->waiter, ABOVE);
	spin_until(raise->s->hog_ends);
}

TEST(overdue_sleeper_that_is_raised_runs_at_once)
{
	static const struct policy raisers[] = { HOG_POLICY, { .policy = SCHED_OTHER } };

	skip_on_rt();
	for (unsigned int i = 0; i < ARRAY_SIZE(raisers); i++) {
		struct late_raise *raise = shared_memory(sizeof(*raise));
		struct situation *s = situation_new();
		u64 from;

		raise->s = s;
		s->waiter = spawn(OTHER, test_cpu, sleep_to_expiry, s);
		await_sleep(s->waiter);
		await_sleep(spawn(raisers[i], test_cpu, spin_and_raise, raise));
		require(now() < s->expiry - MSEC, "prepared too late");
		sleep_until(s->hog_ends + LEAD);
		require(raise->raised && s->woke >= s->expiry, "lost, or early");
		from = raise->raised < s->woke ? raise->raised : s->woke;
		note("raised by policy %d: woke %llu ns later", raisers[i].policy,
		     s->woke - from);
		check(s->woke - from <= 2 * TOLERANCE, "woke %llu ns after it was raised",
		      s->woke - from);
	}
}

/* FIFO-80 sleepers are lowered to FIFO 10: they do not interrupt FIFO 50. */
static unsigned int play_lowered_sleepers(struct window *window)
{
	struct sleep *sleeps = shared_memory(api_count * sizeof(*sleeps));
	unsigned int woken = 0;
	u64 start;

	pin(test_cpu);
	window_prepare();
	become(FIFO(99));
	start = now() + 2 * LEAD * slowness();
	for (unsigned int i = 0; i < api_count; i++) {
		pid_t pid;

		if (!is_sleep(nth_api(i)))
			continue;
		sleeps[i].api = nth_api(i);
		sleeps[i].s = shared_memory(sizeof(*sleeps[i].s));
		sleeps[i].s->expiry = start + i * 200 * USEC;
		pid = spawn(ABOVE, test_cpu, sleep_by_api, &sleeps[i]);
		await_sleep(pid);
		change(pid, BELOW);
	}
	require(now() < start, "prepared too late");
	become(HOG_POLICY);
	sleep_for(1);
	window_spin(window, start + api_count * 200 * USEC + 2 * MSEC);
	sleep_for(20 * MSEC * slowness());
	window_read(window);
	for (unsigned int i = 0; i < api_count; i++) {
		if (!is_sleep(nth_api(i)))
			continue;
		check(!sleeps[i].ret && sleeps[i].s->woke >= sleeps[i].s->expiry,
		      "%s: lost, early, or failed", sleeps[i].api->name);
		woken += sleeps[i].s->woke > 0;
	}
	become(OTHER);
	return woken;
}

TEST(sleepers_that_are_lowered_are_masked)
{
	struct window window;

	if (slowness() > 1)
		skip("a debug kernel takes longer than the window");
	shield_set(false);
	play_lowered_sleepers(&window);
	require_disturbed(&window, "with the shield off");
	shield_set(true);
	play_lowered_sleepers(&window);
	check_undisturbed(&window, "lowered sleepers");
}

static void sleep_far(void *argument)
{
	sleep_until(*(u64 *)argument);
}

/* By every call that there is; nice values make no difference. */
TEST(level_follows_a_sleepers_policy)
{
	struct sched_param param;
	u64 *expiry = shared_memory(sizeof(*expiry));
	pid_t pid;
	int cpu;

	for (cpu = 0; cpu < online_cpus(); cpu++) {
		pin(0);
		become(FIFO(99));
		param.sched_priority = 44;
		*expiry = now() + FAR + cpu;
		pid = spawn(OTHER, cpu, sleep_far, expiry);
		await_sleep(pid);
		expect_level("hrtimer_wakeup", *expiry, LEVEL_FAIR, "before");
		require(!sched_setscheduler(pid, SCHED_RR, &param), "sched_setscheduler");
		expect_level("hrtimer_wakeup", *expiry, LEVEL_FIFO + 44, "sched_setscheduler");
		param.sched_priority = 45;
		require(!sched_setparam(pid, &param), "sched_setparam");
		expect_level("hrtimer_wakeup", *expiry, LEVEL_FIFO + 45, "sched_setparam");
		change(pid, IDLE);
		expect_level("hrtimer_wakeup", *expiry, LEVEL_FAIR, "sched_setattr");
		change(pid, BATCH(3));
		require(!setpriority(PRIO_PROCESS, pid, 19), "setpriority");
		expect_level("hrtimer_wakeup", *expiry, LEVEL_FAIR, "nice 19");
		require(!setpriority(PRIO_PROCESS, pid, -20), "setpriority");
		expect_level("hrtimer_wakeup", *expiry, LEVEL_FAIR, "nice -20");
		end_process(pid);
	}
}

/*
 * Priority inheritance: a sleeper that holds a lock ranks with its waiters,
 * through a chain of locks too, and sinks when the waiter gives up.
 */
struct locks {
	struct situation *s;
	pthread_mutex_t mutex[2];
	const struct api *api;
	u64 expiry;
	bool held;
};

static struct locks *new_locks(void)
{
	struct locks *locks = shared_memory(sizeof(*locks));

	locks->s = situation_new();
	locks->expiry = locks->s->expiry;
	locks->api = &apis[0];
	for (unsigned int i = 0; i < ARRAY_SIZE(locks->mutex); i++)
		pi_mutex_init(&locks->mutex[i]);
	return locks;
}

static void hold_and_sleep(void *argument)
{
	struct locks *locks = argument;

	u64 due;

	pthread_mutex_lock(&locks->mutex[0]);
	locks->api->wait(locks->api, locks->expiry, &due);
	locks->s->expiry = due;
	pthread_mutex_unlock(&locks->mutex[0]);
	pause();
}

/* Goes to sleep when others wait for it already. */
static void hold_for_long_and_sleep(void *argument)
{
	struct locks *locks = argument;

	pthread_mutex_lock(&locks->mutex[0]);
	locks->held = true;
	spin_until(locks->expiry - LEAD / (slowness() > 1 ? 2 : 4));
	locks->api->wait(locks->api, locks->expiry, &locks->s->expiry);
	pthread_mutex_unlock(&locks->mutex[0]);
	pause();
}

static void wait_for_first(void *argument)
{
	struct locks *locks = argument;

	pthread_mutex_lock(&locks->mutex[0]);
	locks->s->woke = now();
	pthread_mutex_unlock(&locks->mutex[0]);
}

static void hold_second_wait_for_first(void *argument)
{
	struct locks *locks = argument;

	pthread_mutex_lock(&locks->mutex[1]);
	pthread_mutex_lock(&locks->mutex[0]);
	pthread_mutex_unlock(&locks->mutex[0]);
	pthread_mutex_unlock(&locks->mutex[1]);
	pause();
}

static void wait_for_second(void *argument)
{
	struct locks *locks = argument;

	pthread_mutex_lock(&locks->mutex[1]);
	locks->s->woke = now();
	pthread_mutex_unlock(&locks->mutex[1]);
}

/* Timers that signal outlast the inheritance: they rank by their owner's own priority. */
static bool inherits(const struct api *api)
{
	return strncmp(api->name, "timer_settime", strlen("timer_settime")) &&
	       strcmp(api->name, "setitimer");
}

static u64 end_of(struct locks *locks, pid_t *holders, unsigned int count)
{
	u64 late = situation_lateness(locks->s);

	for (unsigned int i = 0; i < count; i++)
		end_process(holders[i]);
	return late;
}

static u64 inheritance(void *argument)
{
	struct locks *locks = new_locks();
	pid_t holder;

	locks->api = argument;
	holder = spawn(BELOW, test_cpu, hold_and_sleep, locks);
	await_sleep(holder);
	await_sleep(spawn(ABOVE, test_cpu, wait_for_first, locks));
	return end_of(locks, &holder, 1);
}

static u64 inheritance_by_chain(void *argument)
{
	struct locks *locks = new_locks();
	pid_t holders[2];

	situation_start(locks->s, 2 * LEAD);
	locks->expiry = locks->s->expiry;
	holders[0] = spawn(BELOW, test_cpu, hold_and_sleep, locks);
	await_sleep(holders[0]);
	holders[1] = spawn(FIFO(20), test_cpu, hold_second_wait_for_first, locks);
	await_sleep(holders[1]);
	await_sleep(spawn(ABOVE, test_cpu, wait_for_second, locks));
	return end_of(locks, holders, 2);
}

TEST(boosted_sleepers_timer_is_boosted)
{
	const struct api *api;

	for (unsigned int i = 0; (api = nth_api(i)); i++) {
		/* On slow kernels setting up a ring may take longer than LEAD. */
		if (!inherits(api) || (slowness() > 1 && api == &uring_api))
			continue;
		note("%s:", api->name);
		compare(inheritance, (void *)api, tolerance(api));
	}
}

TEST(boost_follows_a_chain_of_locks)
{
	compare(inheritance_by_chain, NULL, TOLERANCE);
}

TEST(ordinary_sleeper_that_has_inherited_is_on_time)
{
	skip_on_rt();
	for (unsigned int i = 0; i < ARRAY_SIZE(ordinary_sleeps); i++) {
		struct locks *locks = new_locks();
		pid_t holder;

		locks->api = api_find(ordinary_sleeps[i]);
		holder = spawn(OTHER, test_cpu, hold_for_long_and_sleep, locks);
		while (!locks->held)
			sleep_for(100 * USEC);
		await_sleep(spawn(ABOVE, test_cpu, wait_for_first, locks));
		await_sleep(holder);
		check_ordinary_sleep(locks->api, end_of(locks, &holder, 1));
	}
}

TEST(level_follows_inheritance)
{
	struct locks *locks = new_locks();
	pid_t holder, waiters[2];

	locks->expiry = now() + FAR;
	holder = spawn(OTHER, test_cpu, hold_and_sleep, locks);
	await_sleep(holder);
	expect_level("hrtimer_wakeup", locks->expiry, LEVEL_FAIR, "nobody waits");
	for (unsigned int i = 0; i < 2; i++) {
		waiters[i] = spawn(FIFO(30 + i), test_cpu, wait_for_first, locks);
		await_sleep(waiters[i]);
		expect_level("hrtimer_wakeup", locks->expiry, LEVEL_FIFO + 30 + i, "boosted");
	}
	change(waiters[0], FIFO(70));
	expect_level("hrtimer_wakeup", locks->expiry, LEVEL_FIFO + 70, "its waiter was raised");
	for (unsigned int i = 0; i < 2; i++) {
		end_process(waiters[i]);
		expect_level("hrtimer_wakeup", locks->expiry, i ? LEVEL_FAIR : LEVEL_FIFO + 31,
			     "a waiter is gone");
	}
}

/* FIFO 10 raises itself to FIFO 90: a FIFO-50 timer no longer interrupts it. */
static void raise_oneself_and_spin(struct scene *scene)
{
	become(FIFO(90));
	window_spin(&scene->window, scene->start + scene->length);
}

TEST(raised_by_itself)
{
	struct scene *scene = scene_new(1);

	scene->owner[0].policy = FIFO(50);
	scene->runner = FIFO(10);
	scene->run = raise_oneself_and_spin;
	scene_run(scene);
	check_undisturbed(&scene->window, "FIFO 10 became FIFO 90");
	check_served(scene);
}

/*
 * The running task is lowered with an expired FIFO-50 timer masked: that one
 * expires at once.
 */
struct lowering {
	struct situation *s;
	struct policy to;
	bool by_itself;
	u64 lowered;
};

static void spin_and_lower_itself(void *argument)
{
	struct lowering *lowering = argument;

	spin_until(lowering->s->expiry + 2 * MSEC * slowness());
	lowering->lowered = now();
	if (lowering->by_itself)
		set_policy(0, lowering->to);
	spin_until(lowering->s->hog_ends);
}

static void check_lowering(struct policy to)
{
	struct lowering *lowering = shared_memory(sizeof(*lowering));
	struct situation *s = situation_new();

	*lowering = (struct lowering){ .s = s, .to = to, .by_itself = true };
	s->waiter = spawn(HOG_POLICY, test_cpu, sleep_to_expiry, s);
	await_sleep(s->waiter);
	spawn(FIFO(90), test_cpu, spin_and_lower_itself, lowering);
	sleep_until(s->hog_ends + LEAD);
	require(s->woke && lowering->lowered, "lost");
	require(s->woke > lowering->lowered, "FIFO 90 did not keep FIFO 50 from running");
	check(s->woke <= lowering->lowered + 2 * TOLERANCE,
	      "FIFO 50 ran %llu ns after FIFO 90 had lowered itself",
	      s->woke - lowering->lowered);
}

TEST(lowered_by_itself)
{
	static const struct policy to[] = {
		{ .policy = SCHED_FIFO, .priority = 10 },
		{ .policy = SCHED_RR, .priority = 49 },
		{ .policy = SCHED_OTHER },
		{ .policy = SCHED_IDLE },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(to); i++)
		check_lowering(to[i]);
}

/* FIFO 90 on CPU 1 is lowered by a task on CPU 0. */
TEST(lowered_by_another_cpu)
{
	struct lowering *lowering = shared_memory(sizeof(*lowering));
	struct situation *s;
	pid_t spinner;

	if (online_cpus() < 2)
		skip("needs two CPUs");
	test_cpu = 1;
	s = situation_new();
	pin(0);
	s->waiter = spawn(HOG_POLICY, 1, sleep_to_expiry, s);
	await_sleep(s->waiter);
	s->hog_ends = s->expiry + 80 * MSEC * slowness();
	*lowering = (struct lowering){ .s = s };
	spinner = spawn(FIFO(90), 1, spin_and_lower_itself, lowering);
	sleep_until(s->expiry + 25 * MSEC * slowness());
	require(!s->woke, "FIFO 90 did not keep FIFO 50 from running");
	lowering->lowered = now();
	change(spinner, BELOW);
	sleep_until(s->hog_ends + LEAD);
	check(s->woke && s->woke <= lowering->lowered + TOLERANCE_SMP,
	      "FIFO 50 ran %lld ns after FIFO 90 was lowered", s->woke - lowering->lowered);
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
 * which a task on CPU 0 waits: FIFO-30 sleepers no longer interrupt it.
 */
struct rise {
	struct locks *locks;
	struct window window;
	bool by_lock;
	unsigned int spins;
	u64 start;
};

#define RISE_SLEEPERS 5

static void spin_and_rise(void *argument)
{
	struct rise *rise = argument;

	pthread_mutex_lock(&rise->locks->mutex[0]);
	window_spin(&rise->window, now() + 100 * USEC);
	__atomic_store_n(&rise->spins, 1, __ATOMIC_RELEASE);
	spin_until(rise->start);
	window_spin(&rise->window, rise->start + (RISE_SLEEPERS + 1) * MSEC);
	pthread_mutex_unlock(&rise->locks->mutex[0]);
	pause();
}

static void sleep_to_start(void *argument)
{
	sleep_until(*(u64 *)argument);
}

static unsigned int play_rise(struct rise *rise)
{
	u64 expiries[RISE_SLEEPERS];
	pid_t pids[RISE_SLEEPERS + 2];

	test_cpu = 1;
	rise->locks = new_locks();
	pin(0);
	window_prepare();
	rise->spins = 0;
	rise->start = now() + 2 * LEAD;
	for (unsigned int i = 0; i < RISE_SLEEPERS; i++) {
		expiries[i] = rise->start + i * MSEC + 500 * USEC;
		pids[i] = spawn(FIFO(30), 1, sleep_to_start, &expiries[i]);
		await_sleep(pids[i]);
	}
	pids[RISE_SLEEPERS] = spawn(OTHER, 1, spin_and_rise, rise);
	while (!__atomic_load_n(&rise->spins, __ATOMIC_ACQUIRE))
		sleep_for(100 * USEC);
	pids[RISE_SLEEPERS + 1] = spawn(ABOVE, 0, rise->by_lock ? wait_for_first : sleep_far,
					rise->by_lock ? (void *)rise->locks : &rise->start);
	await_sleep(pids[RISE_SLEEPERS + 1]);
	if (!rise->by_lock)
		change(pids[RISE_SLEEPERS], FIFO(60));
	require(now() < rise->start, "prepared too late");
	sleep_until(rise->start + 2 * RISE_SLEEPERS * MSEC);
	for (unsigned int i = 0; i < ARRAY_SIZE(pids); i++)
		end_process(pids[i]);
	window_read(&rise->window);
	return rise->window.foreign;
}

static void raised_by_another_cpu(void)
{
	struct rise *rise = shared_memory(sizeof(*rise));

	if (online_cpus() < 2)
		skip("needs two CPUs");
	if (slowness() > 1)
		skip("a debug kernel takes longer than the window");
	rise->by_lock = test_argument();
	shield_set(false);
	play_rise(rise);
	require_disturbed(&rise->window, "with the shield off");
	shield_set(true);
	play_rise(rise);
	note("%u interruptions, %u timers expired", rise->window.foreign, rise->window.expired);
	/* For what the device was set for when it rose. */
	check(rise->window.foreign <= 1 && !rise->window.expired,
	      "%u interruptions, %u timers expired", rise->window.foreign, rise->window.expired);
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
	struct rlimit files = { SAME + 64, SAME + 64 };
	u64 *expiry = shared_memory(sizeof(*expiry)), start;
	pid_t pid;

	require(!setrlimit(RLIMIT_NOFILE, &files), "setrlimit: %s", strerror(errno));
	pin(test_cpu);
	become(OTHER);
	*expiry = now() + FAR;
	/* A sleeper's expiry is later by its slack, 1 ns. */
	for (unsigned int i = 0; i < others / 2; i++)
		timerfd_arm(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), *expiry + 1, 0);
	become(FIFO(99));
	pid = spawn(OTHER, test_cpu, sleep_far, expiry);
	await_sleep(pid);
	become(OTHER);
	for (unsigned int i = others / 2; i < others; i++)
		timerfd_arm(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), *expiry + 1, 0);
	become(FIFO(99));
	start = now();
	change(pid, FIFO(10));
	start = now() - start;
	end_process(pid);
	return start;
}

TEST(others_of_the_same_expiry_cost_nothing)
{
	u64 alone, among;

	time_of_change(0);
	alone = time_of_change(0);
	among = time_of_change(SAME);
	note("sched_setattr() takes %llu ns, %llu ns among %u timers of one expiry", alone, among,
	     SAME);
	check(among <= 2 * alone + 10 * USEC, "%llu ns, %llu ns alone", among, alone);
}

/*
 * A process that may be real-time, at FIFO 10 or 11, has a thousand signal timers and changes its
 * priority again and again. These follow, but not all of them while interrupts are kept out: a
 * FIFO-99 task that sleeps and wakes meanwhile is on time.
 */
#define FOLLOWERS 1000
#define WAKE_UPS 300

static void change_for_ever(void *argument)
{
	struct rlimit signals = { FOLLOWERS + 64, FOLLOWERS + 64 };
	bool *ready = argument;

	require(!setrlimit(RLIMIT_SIGPENDING, &signals), "setrlimit: %s", strerror(errno));
	for (unsigned int i = 0; i < FOLLOWERS; i++)
		posix_timer_arm(SIGEV_SIGNAL, 0, now() + FAR + i, 0);
	__atomic_store_n(ready, true, __ATOMIC_RELEASE);
	for (unsigned int i = 0;; i++)
		change(0, FIFO(10 + i % 2));
}

static u64 lateness_beside_changes(void)
{
	bool *ready = shared_memory(sizeof(*ready));
	u64 worst = 0, next;
	pid_t pid;

	pin(test_cpu);
	become(FIFO(99));
	pid = spawn(FIFO(10), test_cpu, change_for_ever, ready);
	while (!__atomic_load_n(ready, __ATOMIC_ACQUIRE))
		sleep_for(MSEC);
	next = now();
	for (unsigned int i = 0; i < WAKE_UPS; i++) {
		u64 late;

		next += 537 * USEC;
		sleep_until(next);
		late = now() - next;
		if (late > worst)
			worst = late;
	}
	end_process(pid);
	return worst;
}

TEST(timers_that_follow_delay_nobody)
{
	u64 off, on;

	shield_set(false);
	lateness_beside_changes();
	off = lateness_beside_changes();
	shield_set(true);
	on = lateness_beside_changes();
	note("FIFO 99 is %llu ns late at worst, %llu with the shield off", on, off);
	/* A distribution's kernel executes more for each of them. */
	check(on <= off + (shield_is_module() ? 2 : 1) * TOLERANCE,
	      "FIFO 99 is %llu ns late, %llu with the shield off", on, off);
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

	if (online_cpus() < 2)
		skip("needs two CPUs");
	pin(test_cpu);
	require(!timer_create(CLOCK_MONOTONIC, NULL, &timer), "timer_create: %m");
	require(!pthread_create(&thread, NULL, change_own_priority, &end), "no thread");
	while (now() < end)
		require(!timer_settime(timer, 0, &hour, NULL), "timer_settime: %m");
	pthread_join(thread, NULL);
}
