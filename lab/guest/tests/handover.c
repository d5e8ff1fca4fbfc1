// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rule R6: a wake-up that another allowed CPU could serve now is not held back
 * because this CPU is busy, and the busy CPU is not interrupted for it. What may
 * not run elsewhere waits. Tests of what must not be handed over pass where nothing
 * is; the others fail there, as late as CPU 0 is busy.
 */
#define _GNU_SOURCE
#include "file.h"
#include "lib/shield.h"
#include "lib/situation.h"
#include "lib/trace.h"
#include "lib/uring.h"
#include "lib/window.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define BUSY (20 * MSEC * slowness())	/* how long CPU 0 goes on after the expiry */
#define ONLINE "/sys/devices/system/cpu/cpu1/online"

static void allow(unsigned int cpus)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int cpu = 0; cpu < 8; cpu++)
		if (cpus & 1u << cpu)
			CPU_SET(cpu, &set);
	require(!sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity(%#x): %s", cpus,
		strerror(errno));
}

struct sleeper {
	struct situation *s;
	const struct api *api;
	unsigned int cpus;	/* allowed, from when it has started on CPU 0 */
	int ret;
	u64 due, woke;
	int cpu;		/* where it woke up */
};

static void sleep_by_api(void *argument)
{
	struct sleeper *sleeper = argument;

	allow(sleeper->cpus);
	sleeper->ret = sleeper->api->wait(sleeper->s->expiry, &sleeper->due);
	sleeper->cpu = sched_getcpu();
	sleeper->woke = now();
}

static struct window *window;

static void spin_in_window(void *argument)
{
	struct situation *s = argument;

	window_spin(window, s->hog_ends);
}

/*
 * The task's own view of the interruptions (check_undisturbed()) does not count
 * here: the turns of the other CPU are gaps in it.
 */
static void check_not_served_there(void)
{
	check(!window->foreign, "FIFO 90 on CPU 0 was interrupted by %u timers below it",
	      window->foreign);
}

static struct situation *prepare(void)
{
	if (online_cpus() < 2)
		skip("needs two CPUs");
	if (!window)
		window = shared_memory(sizeof(*window));
	window_prepare();
	return situation_new();
}

static struct sleeper *start_sleeper(struct situation *s, const struct api *api,
				     unsigned int cpus)
{
	struct sleeper *sleeper = shared_memory(sizeof(*sleeper));

	*sleeper = (struct sleeper){ .s = s, .api = api, .cpus = cpus };
	await_sleep(spawn(FIFO(50), 0, sleep_by_api, sleeper));
	return sleeper;
}

/* FIFO 90 keeps CPU 0 busy over the expiry, and CPU 1 has nothing to do. */
static void keep_busy(struct situation *s)
{
	require(now() < s->expiry, "prepared too late");
	s->hog_ends = s->expiry + BUSY;
	spawn(FIFO(90), 0, spin_in_window, s);
	become(FIFO(60));
	sleep_until(s->hog_ends + LEAD);
}

static u64 lateness(const struct sleeper *sleeper)
{
	require(!sleeper->ret, "%s: %s", sleeper->api->name, strerror(-sleeper->ret));
	require(sleeper->woke, "%s: lost", sleeper->api->name);
	require(sleeper->woke >= sleeper->due, "%s: early", sleeper->api->name);
	return sleeper->woke - sleeper->due;
}

static u64 allowed_on_both(void *argument)
{
	struct situation *s = prepare();
	struct sleeper *sleeper = start_sleeper(s, argument, 3);

	keep_busy(s);
	return lateness(sleeper);
}

static void wakes_on_a_cpu_that_is_free(void)
{
	static const char * const names[] = {
		"clock_nanosleep", "clock_nanosleep_realtime", "futex", "epoll_pwait2",
		"sigtimedwait", "timerfd", "timerfd_boottime", "timer_settime_signal",
		"timer_settime_thread_id", "setitimer",
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++) {
		note("%s:", names[i]);
		compare_smp(allowed_on_both, (void *)api_find(names[i]), TOLERANCE_SMP);
		window_read(window);
		check_not_served_there();
	}
}

/* More of them than are taken in one go, all due at about the same time. */
#define MANY 40

static u64 many_on_both(void *argument)
{
	struct situation *s = prepare();
	struct sleeper *sleepers[MANY];
	u64 worst = 0;

	s->expiry += MANY * 3 * MSEC * slowness();
	for (unsigned int i = 0; i < MANY; i++)
		sleepers[i] = start_sleeper(s, api_find("clock_nanosleep"), 3);
	keep_busy(s);
	for (unsigned int i = 0; i < MANY; i++) {
		u64 late = lateness(sleepers[i]);

		worst = late > worst ? late : worst;
	}
	return worst;
}

static void many_wake_on_a_cpu_that_is_free(void)
{
	if (slowness() > 1)
		skip("they take longer to exit than CPU 0 is busy");
	/* While they run, CPU 1 does not let CPU 0 run: that takes turns of a tick. */
	compare_smp(many_on_both, NULL, BUSY / 2);
	window_read(window);
	check_not_served_there();
}

/* What may run on CPU 0 only waits there, and is served as soon as it can run. */
static void check_stays(struct sleeper *sleeper, struct situation *s)
{
	keep_busy(s);
	lateness(sleeper);
	check(sleeper->cpu == 0, "it ran on CPU %d", sleeper->cpu);
	check(sleeper->woke >= s->hog_ends, "it ran while FIFO 90 did");
	check(sleeper->woke <= s->hog_ends + TOLERANCE_SMP, "it ran %llu ns after the release",
	      (unsigned long long)(sleeper->woke - s->hog_ends));
	window_read(window);
	check_not_served_there();
}

static void pinned_tasks_timer_stays(void)
{
	struct situation *s = prepare();

	check_stays(start_sleeper(s, api_find("clock_nanosleep"), 1), s);
}

/* Pinned while it sleeps, and freed while it sleeps. */
static void affinity_may_change_meanwhile(void)
{
	struct situation *s = prepare();
	struct sleeper *sleeper = shared_memory(sizeof(*sleeper));
	cpu_set_t set;
	pid_t pid;

	*sleeper = (struct sleeper){ .s = s, .api = api_find("clock_nanosleep"), .cpus = 3 };
	pid = spawn(FIFO(50), 0, sleep_by_api, sleeper);
	await_sleep(pid);
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	require(!sched_setaffinity(pid, sizeof(set), &set), "sched_setaffinity");
	check_stays(sleeper, s);

	s = prepare();
	*sleeper = (struct sleeper){ .s = s, .api = api_find("clock_nanosleep"), .cpus = 1 };
	pid = spawn(FIFO(50), 0, sleep_by_api, sleeper);
	await_sleep(pid);
	CPU_SET(1, &set);
	require(!sched_setaffinity(pid, sizeof(set), &set), "sched_setaffinity");
	keep_busy(s);
	check(lateness(sleeper) <= TOLERANCE_SMP, "freed while it slept: %llu ns late",
	      (unsigned long long)lateness(sleeper));
}

/* A cpuset that has CPU 0 alone: as good as pinned, whatever its tasks ask for. */
static void write_group(const char *file, const char *text)
{
	int ret = file_write(file, text);

	require(!ret, "%s: %s", file, strerror(-ret));
}

static void cpusets_timers_stay(void)
{
	struct situation *s;

	prepare();
	mkdir("group", 0700);
	if (mount("none", "group", "cgroup2", 0, NULL))
		skip("cgroup2: %s", strerror(errno));
	write_group("group/cgroup.subtree_control", "+cpuset");
	mkdir("group/one", 0700);
	write_group("group/one/cpuset.cpus", "0");
	/* Before the time is set for when it wakes: this may take as long as it likes. */
	write_group("group/one/cgroup.procs", "0");
	s = prepare();
	check_stays(start_sleeper(s, api_find("clock_nanosleep"), 3), s);
	write_group("group/cgroup.procs", "0");
	rmdir("group/one");
	umount2("group", MNT_DETACH);
}

/*
 * An isolated CPU (isolcpus=1) does not serve what has nothing to do with it:
 * a timerfd of tasks that run on CPU 0.
 */
static void isolated_cpu_takes_nothing_over(void)
{
	struct situation *s;
	char text[2048];
	struct sleeper *sleeper;

	if (file_read("/proc/cmdline", text, sizeof(text)) < 0 || !strstr(text, "isolcpus=1"))
		skip("the kernel was not booted with isolcpus=1");
	test_cpu = 1;
	s = prepare();
	trace_on();
	pin(0);
	sleeper = start_sleeper(s, api_find("timerfd"), 1);
	s->hog_ends = s->expiry + BUSY;
	spawn(FIFO(90), 0, spin_to_the_end, s);
	become(FIFO(60));
	sleep_until(s->hog_ends + LEAD);
	trace_off();
	lateness(sleeper);
	check(sleeper->woke >= s->hog_ends, "it ran while FIFO 90 did");
	check(!trace_count("timerfd_tmrproc"), "the isolated CPU served a timerfd of CPU 0");
}

/* CPU 1 is offline when CPU 0 masks the timer, and comes while that is busy. */
static void cpu_that_comes_back_takes_over(void)
{
	struct situation *s;
	struct sleeper *sleeper;
	pid_t hog;
	u64 there;

	prepare();
	write_group(ONLINE, "0");
	s = situation_new();
	/* As long as it may take; the test ends it before. */
	s->hog_ends = s->expiry + 50 * BUSY;
	sleeper = start_sleeper(s, api_find("clock_nanosleep"), 3);
	hog = spawn(FIFO(90), 0, spin_to_the_end, s);
	sleep_until(s->expiry + 5 * MSEC * slowness());
	require(!sleeper->woke, "FIFO 90 did not keep FIFO 50 from running");
	write_group(ONLINE, "1");
	there = now();
	require(there < s->hog_ends, "onlining took too long");
	sleep_until(there + BUSY);
	kill(hog, SIGKILL);
	waitpid(hog, NULL, 0);
	sleep_for(LEAD);
	lateness(sleeper);
	/* It has its own threads to run first. */
	check(sleeper->woke <= there + BUSY / 2,
	      "woken %llu ns after there was a CPU for it",
	      (unsigned long long)(sleeper->woke - there));
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST(wakes_on_a_cpu_that_is_free),
		TEST(many_wake_on_a_cpu_that_is_free),
		TEST(pinned_tasks_timer_stays),
		TEST(affinity_may_change_meanwhile),
		TEST(cpusets_timers_stay),
		TEST(isolated_cpu_takes_nothing_over),
		TEST(cpu_that_comes_back_takes_over),
	};

	return run_tests(argc, argv, tests, ARRAY_SIZE(tests), 0);
}
