// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What makes a task late before it is woken, and what blocks it: blame against the lateness that
 * the victim counts itself. Its longest one, their sum, the planted culprit in one of the first
 * two rows; and the remedy that is advised, applied as it stands, makes the victim less late.
 */
#define _GNU_SOURCE
#include "lib/blame.h"
#include "lib/network.h"
#include "lib/shield.h"

#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Not in step with the tick, by which the kernel counts the time that ITIMER_PROF measures. */
#define CYCLE (BLAME_PERIOD + 100 * USEC)
#define CYCLES (BLAME_SPIN / CYCLE)
#define WATCHERS 6000		/* of one eventfd: to wake them all takes more than 0.5 ms */
#define PAGES 64
#define CGROUP "/sys/fs/cgroup"
#define FROZEN CGROUP "/frozen"
#define LIMITED CGROUP "/limited"

static pthread_mutex_t mutex;

/*
 * Does its work each CYCLE; how late it is when that is done. WORK takes no time if nothing blocks.
 * REST is not urgent.
 */
static void cycle(void (*work)(void), void (*rest)(unsigned int cycle))
{
	u64 next = now() > truth->first ? now() : truth->first;

	for (unsigned int i = 0; i < CYCLES; i++) {
		u64 start;

		next += CYCLE;
		sleep_until(next);
		work();
		start = now();
		blame_late(start - next);
		rest(i);
		next += (start - next) / CYCLE * CYCLE;
	}
}

static void burn(u64 time)
{
	u64 end = clock_now(CLOCK_THREAD_CPUTIME_ID) + time;

	while (clock_now(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void no_rest(unsigned int cycle)
{
}

static void lock(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

/* It holds the lock for a while, and does not let go of it when it sleeps. */
static void *hold(void *times)
{
	const u64 *time = times;

	prctl(PR_SET_NAME, "owner");
	set_policy(0, OTHER);
	sleep_until(truth->first);
	for (;;) {
		pthread_mutex_lock(&mutex);
		burn(time[0]);
		pthread_mutex_unlock(&mutex);
		sleep_for(time[1]);
	}
	return NULL;
}

static void *hog(void *priority)
{
	u64 random = 1;

	prctl(PR_SET_NAME, "midhog");
	set_policy(0, FIFO((uintptr_t)priority));
	sleep_until(truth->first);
	while (!atomic_load(&truth->done)) {
		burn(8 * MSEC);
		random = random * 1664525 + 1013904223;
		sleep_for(10 * MSEC + (random & 0xfff) * USEC);
	}
	return NULL;
}

static void contend(int protocol, bool with_hog)
{
	static const u64 shortly[] = { 200 * USEC, 300 * USEC }, long_time[] = { 3 * MSEC, 3 * MSEC };
	pthread_mutexattr_t attributes;
	pthread_t thread;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, protocol);
	pthread_mutex_init(&mutex, &attributes);
	pthread_create(&thread, NULL, hold, (void *)(with_hog ? shortly : long_time));
	if (with_hog)
		pthread_create(&thread, NULL, hog, (void *)50);
	cycle(lock, no_rest);
	_exit(0);
}

static void invert(void)
{
	contend(PTHREAD_PRIO_NONE, true);
}

static void inherit(void)
{
	contend(PTHREAD_PRIO_INHERIT, true);
}

static void wait_for_owner(void)
{
	contend(PTHREAD_PRIO_NONE, false);
}

static void wait_for_half(void)
{
	static const u64 half[] = { 500 * USEC, 500 * USEC };
	pthread_t thread;

	pthread_create(&thread, NULL, hold, (void *)half);
	cycle(lock, no_rest);
	_exit(0);
}

/* The victim's group, and the owner's; a real-time task needs none. */
static void give_quota(const char *quota)
{
	char pid[16];

	file_write(CGROUP "/cgroup.subtree_control", "+cpu");
	mkdir(LIMITED, 0755);
	file_write(LIMITED "/cpu.max", quota);
	blame_ready();
	sleep_until(truth->first);
	snprintf(pid, sizeof(pid), "%d", truth->victim);
	file_write(LIMITED "/cgroup.procs", pid);
}

static void limit(unsigned int load)
{
	give_quota("8000 40000");
}

static void limit_nothing(unsigned int load)
{
	give_quota("max 10000");
}

static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;

/* Holds one lock while it waits for the other one. */
static void *hold_both(void *unused)
{
	prctl(PR_SET_NAME, "middle");
	set_policy(0, FIFO(40));
	sleep_until(truth->first);
	for (;;) {
		pthread_mutex_lock(&second);
		lock();
		pthread_mutex_unlock(&second);
		sleep_for(MSEC);
	}
	return NULL;
}

static void lock_second(void)
{
	pthread_mutex_lock(&second);
	pthread_mutex_unlock(&second);
}

static void wait_in_chain(void)
{
	static const u64 long_time[] = { 3 * MSEC, 3 * MSEC };
	pthread_t thread;

	pthread_create(&thread, NULL, hold, (void *)long_time);
	pthread_create(&thread, NULL, hold_both, NULL);
	cycle(lock_second, no_rest);
	_exit(0);
}

static int work[2];

/* Hands it its work in each CYCLE. */
static void *feed(void *priority)
{
	prctl(PR_SET_NAME, "feeder");
	prctl(PR_SET_TIMERSLACK, 1);
	if (priority)
		set_policy(0, FIFO((uintptr_t)priority));
	else
		set_policy(0, OTHER);
	for (u64 next = truth->first; ; next += (now() - next) / CYCLE * CYCLE) {
		next += CYCLE;
		sleep_until(next);
		if (write(work[1], &next, sizeof(next)) < 0)
			return NULL;
	}
}

static void wait_for_work(uintptr_t priority)
{
	pthread_t thread;
	u64 due = 0;

	if (pipe(work))
		_exit(1);
	pthread_create(&thread, NULL, feed, (void *)priority);
	pthread_create(&thread, NULL, hog, (void *)50);
	while (due < truth->first + BLAME_SPIN && read(work[0], &due, sizeof(due)) == sizeof(due))
		blame_late(now() - due);
	_exit(0);
}

static void be_fed_late(void)
{
	wait_for_work(0);
}

static void be_fed_in_time(void)
{
	wait_for_work(51);
}

static int wire[2];

/* The one that answers, like a device on a fieldbus. */
static void *answer(void *priority)
{
	char byte;

	prctl(PR_SET_NAME, "replier");
	if (priority)
		set_policy(0, FIFO((uintptr_t)priority));
	else
		set_policy(0, OTHER);
	while (recv(wire[1], &byte, 1, 0) == 1)
		if (send(wire[1], &byte, 1, 0) != 1)
			break;
	return NULL;
}

static void request(void)
{
	char byte = 0;

	if (send(wire[0], &byte, 1, 0) != 1 || recv(wire[0], &byte, 1, 0) != 1)
		_exit(1);
}

/* By UDP: softirqs carry it. */
static void connect_wire(void)
{
	struct sockaddr_in ends[2];
	socklen_t length = sizeof(ends[0]);

	network_set_up("lo");
	for (int i = 0; i < 2; i++) {
		ends[i] = (struct sockaddr_in){
			.sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) },
		};
		wire[i] = socket(AF_INET, SOCK_DGRAM, 0);
		bind(wire[i], (struct sockaddr *)&ends[i], length);
		getsockname(wire[i], (struct sockaddr *)&ends[i], &length);
	}
	for (int i = 0; i < 2; i++)
		connect(wire[i], (struct sockaddr *)&ends[!i], length);
}

static void ask(uintptr_t priority)
{
	pthread_t thread;

	connect_wire();
	pthread_create(&thread, NULL, answer, (void *)priority);
	pthread_create(&thread, NULL, hog, (void *)50);
	cycle(request, no_rest);
	_exit(0);
}

static void ask_an_ordinary_one(void)
{
	ask(0);
}

static void ask_an_important_one(void)
{
	ask(51);
}

#define WORK (500 * USEC)

static void work_for_a_while(void)
{
	burn(WORK);
}

static void work_each_cycle(void)
{
	cycle(work_for_a_while, no_rest);
}

/* It is an ordinary one when the loop ends. */
static void be_demoted(void)
{
	set_policy(0, OTHER);
	work_each_cycle();
}

static void compute(unsigned int load)
{
	set_policy(0, OTHER);
	blame_ready();
	while (!atomic_load(&truth->done))
		truth->loads[load].count++;
}

static void nothing(void)
{
}

static void take_time(int number)
{
	burn(500 * USEC);
}

/* As a profiler in the process does. */
static void be_profiled(void)
{
	struct itimerval each = { { 0, 4000 }, { 0, 4000 } };

	signal(SIGPROF, take_time);
	setitimer(ITIMER_PROF, &each, NULL);
	work_each_cycle();
}

static void only_wake_up(void)
{
	cycle(nothing, no_rest);
}

static volatile char *pages;
static sigjmp_buf before_fault;

static void return_before_fault(int number)
{
	siglongjmp(before_fault, number);
}

/* In each cycle, a fault that is not served. What follows is no part of it. */
static void give_back(unsigned int i)
{
	static char *volatile nowhere;

	if (i % 5 == 0)
		madvise((void *)pages, PAGES * 4096, MADV_DONTNEED);
	if (!sigsetjmp(before_fault, true))
		*nowhere = 1;
	burn(200 * USEC);
}

static void touch(void)
{
	for (unsigned int page = 0; page < PAGES; page++)
		pages[page * 4096]++;
}

static void use_pages(void)
{
	signal(SIGSEGV, return_before_fault);
	pages = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cycle(touch, give_back);
}

static void lock_memory(void)
{
	mlockall(MCL_CURRENT | MCL_FUTURE);
	use_pages();
}

static void use_new_page(void)
{
	*pages = 1;
	pages += 4096;
}

/* Another thread serves its page faults, as when a virtual machine is moved. */
static void *serve(void *server)
{
	struct uffd_msg message;
	static char page[4096];

	prctl(PR_SET_NAME, "server");
	set_policy(0, OTHER);
	while (read((int)(intptr_t)server, &message, sizeof(message)) == sizeof(message)) {
		struct uffdio_copy served = {
			.dst = message.arg.pagefault.address & ~4095ull, .src = (uintptr_t)page,
			.len = sizeof(page),
		};

		burn(500 * USEC);
		ioctl((int)(intptr_t)server, UFFDIO_COPY, &served);
	}
	return NULL;
}

static void be_served(void)
{
	int server = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register all = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	pthread_t thread;

	pages = mmap(NULL, CYCLES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	all.range.start = (uintptr_t)pages;
	all.range.len = CYCLES * 4096;
	if (ioctl(server, UFFDIO_API, &api) || ioctl(server, UFFDIO_REGISTER, &all) ||
	    pthread_create(&thread, NULL, serve, (void *)(intptr_t)server))
		_exit(1);
	cycle(use_new_page, no_rest);
	_exit(0);
}

/* A write to the eventfd calls so many with interrupts off, and so does a read. */
static void wake_watchers(unsigned int load)
{
	struct rlimit limit = { WATCHERS + 64, WATCHERS + 64 };
	struct epoll_event event = { EPOLLIN | EPOLLET, { 0 } };
	int fd = eventfd(0, EFD_NONBLOCK);

	setrlimit(RLIMIT_NOFILE, &limit);
	for (unsigned int i = 0; i < WATCHERS; i++)
		if (!epoll_ctl(epoll_create1(0), EPOLL_CTL_ADD, fd, &event))
			truth->loads[load].count++;
	blame_ready();
	while (!atomic_load(&truth->done)) {
		u64 one = 1;

		sleep_for(9700 * USEC);
		if (write(fd, &one, sizeof(one)) != sizeof(one) ||
		    read(fd, &one, sizeof(one)) != sizeof(one))
			return;
	}
}

/* From just before it is to wake up on, for 5 of every 20 ms. */
static void disturb(void (*begin)(void), void (*end)(void))
{
	set_policy(0, FIFO(90));
	blame_ready();
	for (u64 next = truth->first + 20 * CYCLE; !atomic_load(&truth->done); next += 10 * CYCLE) {
		sleep_until(next - 20 * USEC);
		begin();
		sleep_until(next + 5 * MSEC);
		end();
	}
}

static void stop(void)
{
	kill(truth->victim, SIGSTOP);
}

static void go_on(void)
{
	kill(truth->victim, SIGCONT);
}

static void stop_and_continue(unsigned int load)
{
	disturb(stop, go_on);
}

static void interrupt(void)
{
	ptrace(PTRACE_SEIZE, truth->victim, 0, 0);
	ptrace(PTRACE_INTERRUPT, truth->victim, 0, 0);
	waitpid(truth->victim, NULL, __WALL);
}

static void detach(void)
{
	ptrace(PTRACE_DETACH, truth->victim, 0, 0);
}

/* As a debugger does that prints its stack. */
static void trace(unsigned int load)
{
	disturb(interrupt, detach);
}

static void freeze(void)
{
	file_write(FROZEN "/cgroup.freeze", "1");
}

static void thaw(void)
{
	file_write(FROZEN "/cgroup.freeze", "0");
}

static void freeze_and_thaw(unsigned int load)
{
	char pid[16];

	mkdir(FROZEN, 0755);
	blame_ready();
	sleep_until(truth->first);
	snprintf(pid, sizeof(pid), "%d", truth->victim);
	file_write(FROZEN "/cgroup.procs", pid);
	disturb(freeze, thaw);
}

/* On PREEMPT_RT the timer waits for a thread, which waits for this one. */
static void keep_softirqs(unsigned int load)
{
	blame_ready();
	hog((void *)(uintptr_t)60);
}

static void read_timer(void)
{
	struct itimerspec when = { .it_interval.tv_nsec = CYCLE };
	u64 next = truth->first, expired;
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);

	when.it_value.tv_sec = (next + CYCLE) / SEC;
	when.it_value.tv_nsec = (next + CYCLE) % SEC;
	timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL);
	while (next < truth->first + BLAME_SPIN && read(fd, &expired, sizeof(expired)) > 0) {
		blame_late(now() - next - CYCLE);
		next += expired * CYCLE;
	}
}

static const struct blame_scenario scenarios[] = {
	{ .name = "inversion", .victim = FIFO(80), .loop = invert },
	{ .name = "inheritance", .victim = FIFO(80), .loop = inherit },
	{ .name = "owner", .victim = FIFO(80), .loop = wait_for_owner },
	{
		.name = "quota", .victim = FIFO(80), .loop = wait_for_half,
		.loads = { { "limiter", limit, 1 } },
	}, {
		.name = "unlimited", .victim = FIFO(80), .loop = wait_for_half,
		.loads = { { "limiter", limit_nothing, 1 } },
	},
	{ .name = "chain", .victim = FIFO(80), .loop = wait_in_chain },
	{ .name = "served", .victim = FIFO(80), .loop = be_served },
	{ .name = "asking", .victim = FIFO(80), .loop = ask_an_ordinary_one },
	{ .name = "asking-important", .victim = FIFO(80), .loop = ask_an_important_one },
	{
		.name = "demoted", .victim = FIFO(80), .loop = be_demoted,
		.loads = { { "encoder", compute, 1 } },
	}, {
		.name = "realtime", .victim = FIFO(1), .loop = work_each_cycle,
		.loads = { { "encoder", compute, 1 } },
	},
	{ .name = "profiled", .victim = FIFO(80), .loop = be_profiled },
	{ .name = "slack", .victim = OTHER, .loop = only_wake_up },
	{ .name = "fed-late", .victim = FIFO(80), .loop = be_fed_late },
	{ .name = "fed-in-time", .victim = FIFO(80), .loop = be_fed_in_time },
	{
		.name = "irqs-off", .victim = FIFO(80), .loop = only_wake_up,
		.loads = { { "evwriter", wake_watchers, 1 } },
	},
	{ .name = "faults", .victim = FIFO(80), .loop = use_pages },
	{ .name = "locked", .victim = FIFO(80), .loop = lock_memory },
	{
		.name = "stopped", .victim = FIFO(80), .loop = only_wake_up,
		.loads = { { "stopper", stop_and_continue, 1 } },
	}, {
		.name = "traced", .victim = FIFO(80), .loop = only_wake_up,
		.loads = { { "tracer", trace, 1 } },
	}, {
		.name = "frozen", .victim = FIFO(80), .loop = only_wake_up,
		.loads = { { "freezer", freeze_and_thaw, 1 } },
	}, {
		.name = "softirq", .victim = FIFO(80), .loop = read_timer,
		.loads = { { "midhog", keep_softirqs, 1 } },
	},
	{ 0 },
};

/* A row of this kind has NAME and HOW, and is one of the first two. */
static const char *blames(const char *scenario, const char *kind,
			  const char *name, const char *how)
{
	const char *victim = blame_run(scenario);
	double longest = blame_number(victim, "longest_ns"), taken = blame_number(victim, "taken_ns");
	unsigned int place = blame_place(victim, kind, name, how);

	note("%s: longest %.1f us, itself %.1f; sum %.1f ms, itself %.1f; row %u", scenario,
	     longest / USEC, (double)truth->late_longest / USEC, taken / MSEC,
	     (double)truth->late_total / MSEC, place);
	check(longest > truth->late_longest / 2 && longest < truth->late_longest * 1.1,
	      "the longest one is %.1f us, not %.1f", longest / USEC,
	      (double)truth->late_longest / USEC);
	/* Its own work makes it late, too, but for faults: these are measured alone. */
	if (strcmp(scenario, "faults"))
		taken += blame_number(victim, "own_ns") > 0 ? blame_number(victim, "own_ns") : 0;
	check(taken > truth->late_total * 0.9 && taken < truth->late_total * 1.1,
	      "the sum is %.1f ms, not %.1f", taken / MSEC, (double)truth->late_total / MSEC);
	check(place == 1 || place == 2, "no row of '%s' among the first two, but in place %u", name,
	      place);
	return victim;
}

/* Its jobs, how many of them were late, and the longest one. */
static void finds_jobs(const char *victim)
{
	double jobs = blame_number(victim, "count"), late = blame_number(victim, "late");
	double longest = blame_number(strstr(victim, "\"jobs\": {"), "longest_ns");

	note("%.0f jobs, itself %u; %.0f late, itself %u; longest %.1f us, itself %.1f", jobs,
	     truth->jobs, late, truth->late_jobs, longest / USEC, (double)truth->late_longest / USEC);
	blame_check("jobs", jobs, truth->jobs, truth->jobs / 10);
	blame_check("late jobs", late, truth->late_jobs, truth->late_jobs / 10 + 1);
	check(longest > truth->late_longest / 2 && longest < truth->late_longest * 1.2,
	      "the longest job took %.1f us, not %.1f", longest / USEC,
	      (double)truth->late_longest / USEC);
}

/*
 * It advises REMEDY for the victim that it has just watched; with that it is less late. A job is
 * late by WORK on any machine.
 */
static void remedy_helps_beyond(u64 work, const char *victim, const char *remedy,
				const char *with_remedy)
{
	u64 longest = truth->late_longest - work;

	check(strstr(victim, remedy), "no remedy");
	blame_run(with_remedy);
	check(truth->late_longest - work < longest / 4, "the remedy does not help: %.1f us",
	      (double)truth->late_longest / USEC);
}

static void remedy_helps(const char *victim, const char *remedy, const char *with_remedy)
{
	remedy_helps_beyond(0, victim, remedy, with_remedy);
}

/* In a scenario that keeps a waker off the CPU blame says so, and its remedy helps. */
static void names_what_keeps(const char *scenario, const char *waker,
			     const char *remedy, const char *with_remedy)
{
	const char *victim = blames(scenario, "kept", "midhog[", waker);

	check(truth->late_longest > 5 * MSEC, "nothing was late");
	remedy_helps(victim, remedy, with_remedy);
}

TEST(names_inversion)
{
	names_what_keeps("inversion", "owner[", "PTHREAD_PRIO_INHERIT", "inheritance");
}

TEST(names_owner)
{
	blames("owner", "blocked", "blocked in futex, woken by ", "");
}

TEST(names_quota_of_owner)
{
	file_write(CGROUP "/cgroup.subtree_control", "+cpu");
	mkdir(LIMITED, 0755);
	if (access(LIMITED "/cpu.max", F_OK))
		skip("this kernel has no CPU quotas");
	remedy_helps(blames("quota", "throttled", "CPU quota of ", "owner["), "quota",
		     "unlimited");
}

TEST(names_last_of_a_chain)
{
	blames("chain", "blocked", "owner[", "middle[");
}

TEST(names_server_of_faults)
{
	int server = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (server < 0)
		skip("this kernel has no userfaultfd");
	close(server);
	blames("served", "blocked", "blocked in page fault, woken by ", "");
}

TEST(names_what_keeps_its_waker)
{
	/* It would hold the feeder's timer, and blame counts from the feeder's wake-up. */
	if (kernel_is_rt())
		skip("the feeder's timer itself waits for the hog here");
	shield_set(false);
	names_what_keeps("fed-late", "feeder[", "chrt -f -p 51 ", "fed-in-time");
	shield_set(true);
}

TEST(names_who_keeps_a_reply)
{
	const char *victim;

	if (kernel_is_rt())
		skip("the softirq's own thread waits for the hog here");
	shield_set(false);
	victim = blames("asking", "kept", "midhog[", "replier[");
	finds_jobs(victim);
	check(truth->late_longest > 5 * MSEC, "nothing was late");
	remedy_helps(victim, "chrt -f -p 51 ", "asking-important");
	shield_set(true);
}

/* It was FIFO 80, and is not: its level is that of the moment. */
TEST(knows_a_demoted_task)
{
	const char *victim = blame_run("demoted");
	struct utsname name;

	require(!uname(&name), "uname: %m");
	finds_jobs(victim);
	check(!strstr(victim, "TimerShield module"), "the module was advised");
	if (strverscmp(name.release, "6.6") < 0)
		skip("the scheduler lets it preempt the encoder");
	remedy_helps_beyond(WORK, victim, "chrt -f -p 1 ", "realtime");
}

TEST(names_handlers_of_its_own)
{
	const char *victim = blame_run("profiled");

	finds_jobs(victim);
	check(blame_sum(victim, (struct blame_wanted){
		.kind = "signal", .name = "handler of signal PROF of its own interval timer" },
		"count") > 50, "no row for the handlers: %.900s", strstr(victim, "\"culprits\""));
	check(blame_number(victim, "own_median_ns") < 700 * USEC, "its own work: %.1f us",
	      blame_number(victim, "own_median_ns") / USEC);
}

/* What an ordinary task loses otherwise is more than its slack: the remedy is told, not measured. */
TEST(names_slack)
{
	check(strstr(blame_run("slack"), "prctl(PR_SET_TIMERSLACK, 1)"), "no remedy");
}

TEST(names_interrupts_off)
{
	const char *victim;

	if (kernel_is_rt())
		skip("the lock of an eventfd leaves interrupts on here");
	victim = blames("irqs-off", "irqs-off", "load-evwriter[", "");
	check(truth->loads[0].count == WATCHERS, "%u watchers", truth->loads[0].count);
	check(strstr(victim, "eventfd_write") || strstr(victim, "eventfd_read"),
	      "without its stack: %.900s", strstr(victim, "\"culprits\""));
}

TEST(names_faults)
{
	remedy_helps(blames("faults", "page-fault", "page faults", ""), "mlockall(",
		     "locked");
}

TEST(names_stop)
{
	blames("stopped", "blocked", "stopped by a signal, woken by load-stopper[", "");
}

TEST(names_tracer)
{
	blames("traced", "blocked", "stopped by its tracer, woken by load-tracer[", "");
}

/* Trace events do not tell. */
TEST(bpf_names_freezer)
{
	blames("frozen", "blocked", "frozen by its cgroup, woken by load-freezer[", "");
}

TEST(names_what_keeps_softirqs)
{
	if (!kernel_is_rt())
		skip("timers expire in interrupts here");
	blames("softirq", "kept", "midhog[", "waited for it");
}

int main(int argc, char **argv)
{
	return blame_main(argc, argv, scenarios);
}
