// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "task.h"
#include "file.h"
#include "pause.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

/* The C library has no wrapper for sched_setattr(). */
struct attributes {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime;
	uint64_t deadline;
	uint64_t period;
};

int set_policy(pid_t pid, struct policy policy)
{
	struct attributes attributes = {
		.size = sizeof(attributes),
		.policy = policy.policy,
		.nice = policy.nice,
		.priority = policy.priority,
		.runtime = policy.runtime,
		.deadline = policy.period,
		.period = policy.period,
	};

	return syscall(SYS_sched_setattr, pid, &attributes, 0) ? -errno : 0;
}

void become(struct policy policy)
{
	int ret = set_policy(0, policy);

	require(!ret, "sched_setattr(policy %d, priority %d): %s", policy.policy,
		policy.priority, strerror(-ret));
}

#define NOBODY 65534

void become_nobody(void)
{
	struct rlimit none = { 0, 0 };

	require(!setrlimit(RLIMIT_RTPRIO, &none) && !setrlimit(RLIMIT_NICE, &none) &&
		!setgroups(0, NULL) && !setresgid(NOBODY, NOBODY, NOBODY) &&
		!setresuid(NOBODY, NOBODY, NOBODY), "cannot become nobody: %m");
	/* Else it would not die with the test. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

pid_t thread_called(const char *name)
{
	char path[64], comm[64];
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	pid_t pid = 0;

	require(dir, "/proc: %m");
	while (!pid && (entry = readdir(dir))) {
		int number = atoi(entry->d_name);

		snprintf(path, sizeof(path), "/proc/%d/comm", number);
		if (number > 1 && file_read(path, comm, sizeof(comm)) > 0 &&
		    !strncmp(comm, name, strlen(name)))
			pid = number;
	}
	closedir(dir);
	return pid;
}

static bool set_thread(const char *name, struct policy policy)
{
	pid_t pid = thread_called(name);
	int ret = pid ? set_policy(pid, policy) : 0;

	require(!ret, "%s: sched_setattr: %s", name, strerror(-ret));
	return pid;
}

void set_softirq_threads(int cpu, struct policy policy)
{
	char name[32];

	if (!kernel_is_rt())
		return;
	snprintf(name, sizeof(name), "ksoftirqd/%d", cpu);
	require(set_thread(name, policy), "there is no %s", name);
	snprintf(name, sizeof(name), "rcuc/%d", cpu);
	require(set_thread(name, policy), "there is no %s", name);
	/* Not on our 6.12. It is FIFO 1, not ordinary. */
	snprintf(name, sizeof(name), "ktimers/%d", cpu);
	set_thread(name, policy.policy == SCHED_OTHER ? FIFO(1) : policy);
}

void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	require(!sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity(%d): %m", cpu);
}

int set_affinity(pid_t pid, u64 cpus)
{
	return syscall(SYS_sched_setaffinity, pid, sizeof(cpus), &cpus) ? -errno : 0;
}

int test_cpu;

bool kernel_is_rt(void)
{
	struct utsname name;

	return !uname(&name) && strstr(name.version, "PREEMPT_RT");
}

unsigned int slowness(void)
{
	static unsigned int times;

	if (!times)
		times = access("/proc/lockdep_stats", F_OK) ? 1 : 10;
	return times;
}

int online_cpus(void)
{
	return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

void needs_two_cpus(void)
{
	if (online_cpus() < 2)
		skip("needs two CPUs");
}

void needs_a_fast_kernel(void)
{
	if (slowness() > 1)
		skip("a debug kernel takes longer than the test has");
}

void *shared_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	require(memory != MAP_FAILED, "mmap: %m");
	return memory;
}

pthread_barrier_t *barrier_new(void)
{
	pthread_barrier_t *barrier = shared_memory(sizeof(*barrier));
	pthread_barrierattr_t shared;

	pthread_barrierattr_init(&shared);
	pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(barrier, &shared, 2);
	return barrier;
}

void await_true(const bool *flag)
{
	while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
		sleep_for(200 * USEC);
}

void set_true(bool *flag)
{
	__atomic_store_n(flag, true, __ATOMIC_RELEASE);
}

pthread_t thread_new(void *(*function)(void *argument), void *argument)
{
	pthread_t thread;
	int ret = pthread_create(&thread, NULL, function, argument);

	require(!ret, "no thread: %s", strerror(ret));
	return thread;
}

void allow_files(unsigned int count)
{
	struct rlimit limit = { count + 64, count + 64 };

	require(!setrlimit(RLIMIT_NOFILE, &limit), "setrlimit: %m");
}

pid_t newest;

bool new_process(struct policy policy, int cpu, void (*await)(pid_t pid))
{
	static unsigned int *started;
	unsigned int before;

	if (!started)
		started = shared_memory(sizeof(*started));
	before = *started;
	newest = fork();
	require(newest >= 0, "fork: %m");
	if (newest) {
		require(wait_while(started, before, now() + 10 * SEC),
			"process %d does not start", newest);
		if (await)
			await(newest);
		return false;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_TIMERSLACK, 1);
	if (policy.policy != SCHED_DEADLINE || online_cpus() > 1)
		pin(cpu);
	become(policy);
	/* A context switch, by which the shield learns of the policy for certain. */
	sleep_for(1);
	__atomic_store_n(started, before + 1, __ATOMIC_RELEASE);
	wake_all(started);
	return true;
}

void end_of_block(void)
{
	_exit(0);
}

void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	await_exit(pid);
}

void await_exit(pid_t pid)
{
	waitpid(pid, NULL, 0);
}

char process_state(pid_t pid)
{
	char path[32], text[512], *state;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read(path, text, sizeof(text)) < 0)
		return 0;
	state = strrchr(text, ')');
	return state ? state[2] : 0;
}

void await_sleep(pid_t pid)
{
	u64 limit = now() + 2 * SEC * slowness();
	unsigned int seen = 0;
	char state = 0;

	while (now() < limit) {
		unsigned int enough;

		state = process_state(pid);
		if (!state)
			fail("process %d ended instead of going to sleep", pid);
		/* Tasks also sleep on their way: for a page, on slow kernels for a lock. */
		enough = slowness() > 1 ? 20 : state == 'D' ? 8 : 1;
		seen = strchr("SDT", state) ? seen + 1 : 0;
		if (seen >= enough)
			return;
		sleep_for(200 * USEC);
	}
	fail("process %d does not go to sleep: its state is %c", pid, state);
}

struct timespec to_timespec(u64 ns)
{
	return (struct timespec){ .tv_sec = ns / SEC, .tv_nsec = ns % SEC };
}

u64 clock_now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * SEC + time.tv_nsec;
}

void move_clock(s64 by)
{
	struct timespec time = to_timespec(clock_now(CLOCK_REALTIME) + by);

	require(!clock_settime(CLOCK_REALTIME, &time), "clock_settime: %m");
}

u64 now(void)
{
	return clock_now(CLOCK_MONOTONIC);
}

void sleep_until(u64 expiry)
{
	struct timespec time = to_timespec(expiry);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
		;
}

void sleep_for(u64 duration)
{
	sleep_until(now() + duration);
}

bool let_other_cpus_run(u64 time)
{
	static int cpus;
	static u64 next;

	if (time < next)
		return false;
	next = time + 10 * USEC;
	if (!cpus)
		cpus = get_nprocs_conf();
	if (cpus == 1)
		return false;
	pause_cpu();
	return true;
}

void spin_until(u64 expiry)
{
	u64 time;

	while ((time = now()) < expiry)
		let_other_cpus_run(time);
}

bool wait_while(unsigned int *word, unsigned int value, u64 limit)
{
	struct timespec time = to_timespec(limit);

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value) {
		if (syscall(SYS_futex, word, FUTEX_WAIT_BITSET, value,
			    limit ? &time : NULL, NULL, FUTEX_BITSET_MATCH_ANY) < 0 &&
		    errno == ETIMEDOUT)
			return false;
	}
	return true;
}

void wake_all(unsigned int *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
