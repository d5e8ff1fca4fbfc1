// SPDX-License-Identifier: GPL-2.0-or-later
#include "load.h"
#include "control_loop.h"

#include "lib/file.h"
#include "lib/message.h"
#include "lib/text.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534
#define TIMERFDS 1000
#define THREADS 200
#define SLEEPERS 100
#define SLEEPER_PRIORITY 70
#define STACK_SIZE (64 * 1024)
#define BATCH 64
#define READY_FD 3
#define READY_MS 30000

/* Periods of automotive task sets in ms (Kramer, Ziegenbein, Hamann 2015). */
static const unsigned int automotive_ms[] = { 1, 2, 5, 10, 20, 50, 100, 200, 1000 };

static void load_ready(void)
{
	if (write(READY_FD, "", 1) == 1)
		close(READY_FD);
}

/* Periods of 1, 2, ... us, as in the paper. */
static void run_timerfds(uint64_t grid)
{
	struct epoll_event events[BATCH];
	int epoll = epoll_create1(0);

	for (unsigned int i = 0; i < TIMERFDS; i++) {
		uint64_t start = grid + (i + 1) * 1000ull;
		struct itimerspec when = {
			.it_value = { (time_t)(start / 1000000000), (long)(start % 1000000000) },
			.it_interval.tv_nsec = (i + 1) * 1000,
		};
		int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
		struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

		if (fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) ||
		    timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL))
			_exit(1);
	}
	load_ready();
	for (;;) {
		int n = epoll_wait(epoll, events, BATCH, -1);
		uint64_t expirations;

		for (int i = 0; i < n; i++)
			if (read(events[i].data.fd, &expirations, sizeof(expirations)) < 0 &&
			    errno != EAGAIN)
				_exit(1);
	}
}

struct sleeper {
	uint64_t start, period;
};

static void *sleep_periodically(void *argument)
{
	const struct sleeper *sleeper = argument;

	for (uint64_t due = sleeper->start; ; due += sleeper->period)
		loop_sleep_until(due);
	return NULL;
}

static void start_sleepers(const struct sleeper *sleepers, unsigned int count)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	for (unsigned int i = 0; i < count; i++)
		if (pthread_create(&thread, &attributes, sleep_periodically, (void *)&sleepers[i]))
			_exit(1);
	load_ready();
	for (;;)
		pause();
}

/* Periods evenly from 1 to 10 ms, none a multiple of the loop's. */
static void run_threads(uint64_t grid)
{
	static struct sleeper sleepers[THREADS];

	for (unsigned int i = 0; i < THREADS; i++) {
		sleepers[i].period = 1000000 + 9000000ull * i / THREADS + 17;
		sleepers[i].start = grid + sleepers[i].period;
	}
	start_sleepers(sleepers, THREADS);
}

/* Released together, and with the loop's jobs. */
static void run_synchronized(uint64_t grid)
{
	static struct sleeper sleepers[SLEEPERS];

	for (unsigned int i = 0; i < SLEEPERS; i++) {
		sleepers[i].period = automotive_ms[i % ARRAY_SIZE(automotive_ms)] * 1000000ull;
		sleepers[i].start = grid;
	}
	start_sleepers(sleepers, SLEEPERS);
}

static void run_hog(uint64_t grid)
{
	(void)grid;
	load_ready();
	for (volatile unsigned long rounds = 0; ; rounds++)
		;
}

const struct load_kind load_kinds[] = {
	{ .name = "nothing", .title = "nothing" },
	{ .name = "timerfds", .title = "1,000 timerfds", .processes = 1, .timers = true,
	  .run = run_timerfds },
	{ .name = "threads", .title = "200 sleeping threads", .processes = 1, .timers = true,
	  .run = run_threads },
	{ .name = "synchronized", .title = "100 synchronized FIFO sleepers", .processes = 1,
	  .timers = true, .realtime = true, .run = run_synchronized },
	{ .name = "hogs", .title = "2 CPU hogs", .processes = 2, .run = run_hog },
};

const size_t load_kind_count = ARRAY_SIZE(load_kinds);

static int pin(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

/* A kernel with CONFIG_RT_GROUP_SCHED may let no real-time task into a group. */
static int join(const char *group, bool realtime)
{
	autofree char *procs = format("%s/cgroup.procs", group ? group : "");
	int ret = group ? file_write(procs, "0") : 0;

	return realtime && ret == -EINVAL ? 0 : ret;
}

static int become_realtime(void)
{
	struct sched_param parameter = { .sched_priority = SLEEPER_PRIORITY };

	return sched_setscheduler(0, SCHED_FIFO, &parameter) ? -errno : 0;
}

/* The kernel forgets PR_SET_PDEATHSIG when the identity changes, so that comes first. */
static int become_nobody(pid_t parent)
{
	struct rlimit files = { TIMERFDS + 64, TIMERFDS + 64 };

	setrlimit(RLIMIT_NOFILE, &files);
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY) || prctl(PR_SET_PDEATHSIG, SIGKILL))
		return -errno;
	return getppid() == parent ? 0 : -ESRCH;
}

/* In the new process: never returns. Of the files it keeps the one that tells that it is ready. */
static void run_load(const struct load_kind *kind, unsigned int cpu, uint64_t grid,
		     const char *group, pid_t parent, int ready)
{
	int ret;

	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	prctl(PR_SET_NAME, "prove-load");
	ret = pin(cpu);
	if (!ret && kind->realtime)
		ret = become_realtime();
	if (!ret)
		ret = join(group, kind->realtime);
	if (!ret)
		ret = become_nobody(parent);
	if (ret)
		failed(ret, "%s: %s", kind->title, strerror(-ret));
	if (ret || dup2(ready, READY_FD) < 0)
		_exit(1);
	syscall(SYS_close_range, READY_FD + 1, ~0u, 0);
	kind->run(grid);
	_exit(1);
}

/* A byte comes from each process; the end of the file comes when one is missing. */
static int await_ready(int fd, unsigned int count)
{
	struct pollfd source = { .fd = fd, .events = POLLIN };
	char byte;

	while (count) {
		int ret = poll(&source, 1, READY_MS);

		if (prove_interrupted)
			return -EINTR;
		if (!ret)
			return -ETIMEDOUT;
		if (ret > 0 && read(fd, &byte, 1) != 1)
			return -ECHILD;
		count -= ret > 0;
	}
	return 0;
}

int load_start(struct load *load, const struct load_kind *kind, unsigned int cpu,
	       uint64_t grid, const char *group)
{
	pid_t parent = getpid();
	int ends[2], ret = 0;

	load->count = 0;
	if (pipe2(ends, O_CLOEXEC))
		return failed(-errno, "%s: %s", kind->title, strerror(errno));
	while (!ret && load->count < kind->processes) {
		pid_t pid = fork();

		if (!pid)
			run_load(kind, cpu, grid, group, parent, ends[1]);
		if (pid < 0)
			ret = -errno;
		else
			load->pids[load->count++] = pid;
	}
	close(ends[1]);
	if (!ret)
		ret = await_ready(ends[0], kind->processes);
	close(ends[0]);
	if (ret)
		load_stop(load);
	if (ret && ret != -EINTR)
		failed(ret, "the load '%s' could not be set up: %s", kind->title, strerror(-ret));
	return ret;
}

bool load_has_ended(const struct load *load)
{
	siginfo_t info = { 0 };

	for (unsigned int i = 0; i < load->count; i++)
		if (waitid(P_PID, (id_t)load->pids[i], &info, WEXITED | WNOHANG | WNOWAIT) ||
		    info.si_pid)
			return true;
	return false;
}

/* One that gets no time on its CPU, next to a task that never sleeps, ends elsewhere. */
void load_stop(struct load *load)
{
	cpu_set_t own;

	CPU_ZERO(&own);
	sched_getaffinity(0, sizeof(own), &own);
	for (unsigned int i = 0; i < load->count; i++) {
		kill(load->pids[i], SIGKILL);
		sched_setaffinity(load->pids[i], sizeof(own), &own);
	}
	while (load->count)
		waitpid(load->pids[--load->count], NULL, 0);
}
