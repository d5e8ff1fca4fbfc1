// SPDX-License-Identifier: GPL-2.0-or-later
/* Loads: what they consist of, and the processes that they run in. */
#include "loads.h"
#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MAX_TASKS 20000
/* Ticks come at multiples of 1, 4 or 10 ms: no job lies across one. */
#define ALIGN_NS (20 * NSEC_PER_MSEC)
#define OFFSET_NS (500 * NSEC_PER_USEC)
#define READY_NS (60 * NSEC_PER_SEC)
#define SPREAD_FROM 1
#define SPREAD_TO 90

volatile sig_atomic_t loads_interrupted;

struct kind {
	const char *name;
	const char *help;
	int policy;
	bool unprivileged;
	bool samples;		/* has a record of every release */
	bool process_each;
	void (*plan)(const struct load *load, int i, struct load_task *task, uint64_t *seed);
	int (*run)(struct loads *loads, struct load_task *tasks, int count);
};

/* Periods of automotive task sets in ms (Kramer, Ziegenbein, Hamann 2015). */
static const int bosch_ms[] = { 1, 2, 5, 10, 20, 50, 100, 200, 1000 };
#define LONG_FROM 2	/* "long" draws from 5 ms on, for sets of a thousand */

static void plan_sleeper(const struct load *load, int i, struct load_task *task, uint64_t *seed)
{
	int from = strstr(load->periods, "long") ? LONG_FROM : 0;
	int pick = from + random_next(seed) % (ARRAY_SIZE(bosch_ms) - from);

	task->period = load->period ? load->period : bosch_ms[pick] * NSEC_PER_MSEC;
	if (strstr(load->periods, "drift"))
		task->period += task->period / 73 + 1009 * (i % 97);
	if (!load->synchronized)
		task->phase = random_next(seed) % task->period;
	if (load->priority < 0)
		task->priority = SPREAD_FROM + i % (SPREAD_TO - SPREAD_FROM + 1);
	else
		task->priority = load->priority;
}

/* 1 us, 2 us, ... as in the paper */
static void plan_timerfd(const struct load *load, int i, struct load_task *task, uint64_t *seed)
{
	task->period = (i + 1) * NSEC_PER_USEC;
	task->phase = task->period;
}

/* evenly from 1 to 10 ms, never a multiple of the loop's period */
static void plan_even(const struct load *load, int i, struct load_task *task, uint64_t *seed)
{
	task->period = NSEC_PER_MSEC + 9 * NSEC_PER_MSEC * i / load->count + 17;
	task->phase = task->period;
}

static int run_itimers(struct loads *loads, struct load_task *tasks, int count)
{
	return itimer_run(loads, tasks);
}

/* Never sleeps: what the scheduler itself arms for it is all that can interrupt a job. */
static int run_hog(struct loads *loads, struct load_task *tasks, int count)
{
	if (task_become(tasks))
		return 1;
	task_ready_and_wait(loads, 1);
	while (clock_ns() < loads->shared->stop)
		;
	return 0;
}

/*
 * The program of rt-tests itself, a process each as in the paper. All have to have
 * begun before the first job: one that begins next to jobs of 1 ms never has its turn
 * in one, and if its period is a multiple of 1 ms its timers never expire in one.
 */
static int run_cyclictest(struct loads *loads, struct load_task *tasks, int count)
{
	char priority[16], interval[32];
	pid_t pid;

	snprintf(priority, sizeof(priority), "-p%d", tasks->priority);
	snprintf(interval, sizeof(interval), "-i%lld",
		 (long long)(tasks->period / NSEC_PER_USEC));
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (freopen("/dev/null", "w", stdout))
			execl("/bin/cyclictest", "cyclictest", "-q", priority, interval, NULL);
		_exit(1);
	}
	if (pid < 0)
		return 1;
	sleep_until(clock_ns() + NSEC_PER_SEC);
	task_ready_and_wait(loads, 1);
	sleep_until(loads->shared->stop);
	if (waitpid(pid, NULL, WNOHANG))
		return 1;
	kill(pid, SIGKILL);
	return 0;
}

static const struct kind kinds[] = {
	{ "sleepers", "SCHED_FIFO threads that sleep periodically",
	  SCHED_FIFO, false, true, false, plan_sleeper, sleepers_run },
	{ "cyclictest", "processes of rt-tests' cyclictest, with sleepers' settings",
	  SCHED_FIFO, false, false, true, plan_sleeper, run_cyclictest },
	{ "threads", "unprivileged ordinary threads that sleep periodically",
	  SCHED_OTHER, true, true, false, plan_even, sleepers_run },
	{ "timerfds", "one unprivileged process with timerfds of 1, 2, 3, ... us",
	  SCHED_OTHER, true, false, false, plan_timerfd, timerfds_run },
	{ "posix-timers", "one unprivileged process with POSIX timers and signals",
	  SCHED_OTHER, true, false, false, plan_even, posix_timers_run },
	{ "itimers", "unprivileged processes with an interval timer each",
	  SCHED_OTHER, true, false, true, plan_even, run_itimers },
	{ "hogs", "unprivileged processes that compute without end",
	  SCHED_OTHER, true, false, true, plan_even, run_hog },
};

static const struct kind *find_kind(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

void loads_describe(FILE *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		fprintf(out, "  %-14s %s\n", kinds[i].name, kinds[i].help);
}

static int parse_setting(char *setting, const struct kind *kind, struct load *load)
{
	char *value = strchr(setting, '=');
	char *end = "";

	if (value)
		*value++ = '\0';
	if (!strcmp(setting, "n") && value)
		load->count = strtol(value, &end, 10);
	else if (kind->plan != plan_sleeper)
		return -EINVAL;		/* the periods of the others are fixed */
	else if (!strcmp(setting, "priority") && value)
		load->priority = strtol(value, &end, 10);
	else if (!strcmp(setting, "period") && value)
		load->period = strtoll(value, &end, 10);
	else if (!strcmp(setting, "periods") && value)
		snprintf(load->periods, sizeof(load->periods), "%s", value);
	else if (!strcmp(setting, "spread"))
		load->priority = -1;
	else if (!strcmp(setting, "sync"))
		load->synchronized = true;
	else
		return -EINVAL;
	return *end ? -EINVAL : 0;
}

static int parse(const char *text, struct load *load)
{
	char *copy = strdup(text), *rest = copy, *word;
	const struct kind *kind;
	int ret = -EINVAL;

	*load = (struct load){ .count = 1, .priority = 70, .periods = "bosch" };
	word = strsep(&rest, ":");
	kind = word ? find_kind(word) : NULL;
	if (!kind)
		goto out;
	load->name = kind->name;
	ret = 0;
	while (!ret && (word = strsep(&rest, ",")))
		ret = parse_setting(word, kind, load);
	if (load->count < 1 || load->count > 10000 || load->priority > 98 ||
	    load->period < 0 || load->period > 1000 * NSEC_PER_SEC)
		ret = -EINVAL;
out:
	free(copy);
	return ret;
}

int loads_plan(struct loads *loads)
{
	loads->shared = shared_alloc(sizeof(*loads->shared));
	loads->tasks = shared_alloc(MAX_TASKS * sizeof(*loads->tasks));
	loads->children = calloc(MAX_TASKS + 1, sizeof(*loads->children));
	return loads->shared && loads->tasks && loads->children ? 0 : -ENOMEM;
}

static int plan_task(struct loads *loads, const struct kind *kind, const struct load *load, int i,
		     uint64_t *seed)
{
	struct load_task *task = &loads->tasks[loads->task_count++];

	task->kind = kind->name;
	task->policy = kind->policy;
	task->unprivileged = kind->unprivileged;
	kind->plan(load, i, task, seed);
	if (!kind->samples || !loads->span)
		return 0;
	task->expected = releases_due(task, loads->span);
	task->releases = shared_alloc(task->expected * sizeof(*task->releases));
	return task->releases ? 0 : -ENOMEM;
}

int loads_add(struct loads *loads, const char *text)
{
	uint64_t seed = loads->seed + loads->task_count;
	struct load load;
	int ret = parse(text, &load);

	if (!ret && loads->task_count + load.count > MAX_TASKS)
		ret = -E2BIG;
	for (int i = 0; !ret && i < load.count; i++)
		ret = plan_task(loads, find_kind(load.name), &load, i, &seed);
	return ret;
}

/* Files that the parent has open, a lock among them, are none of theirs. */
static int become_load(const struct loads *loads, pid_t parent)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		signal(signals[i], SIG_DFL);
	if (loads->name)
		prctl(PR_SET_NAME, loads->name);
	syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		return -ESRCH;
	return loads->anywhere ? 0 : loop_pin(loads->cpu);
}

int load_fork(struct loads *loads)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		return -errno;
	if (pid)
		loads->children[loads->child_count++] = pid;
	else if (become_load(loads, parent))
		_exit(1);
	return pid;
}

/* A kernel with CONFIG_RT_GROUP_SCHED may let no real-time task into a group. */
static int join(const char *group)
{
	int directory = open(group, O_PATH | O_CLOEXEC), fd, ret;

	fd = openat(directory, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	ret = fd < 0 || write(fd, "0", 1) != 1 ? -errno : 0;
	close(fd);
	close(directory);
	return ret;
}

static int start_process(struct loads *loads, const struct kind *kind, struct load_task *tasks,
			 int count)
{
	int pid = load_fork(loads);

	if (!pid && loads->group && kind && kind->policy == SCHED_OTHER && join(loads->group))
		_exit(1);
	if (!pid)
		_exit(kind ? kind->run(loads, tasks, count) : spare_run(loads));
	return pid < 0 ? pid : 0;
}

int loads_start(struct loads *loads)
{
	int ret = 0;

	for (int i = 0; i < loads->task_count && !ret;) {
		const struct kind *kind = find_kind(loads->tasks[i].kind);
		int n = 1;

		while (!kind->process_each && i + n < loads->task_count &&
		       loads->tasks[i + n].kind == kind->name)
			n++;
		ret = start_process(loads, kind, &loads->tasks[i], n);
		i += n;
	}
	if (!ret && loads->spare)
		ret = start_process(loads, NULL, NULL, 0);
	return ret;
}

int loads_wait_ready(struct loads *loads)
{
	int wanted = loads->task_count + loads->spare;
	int64_t limit = clock_ns() + READY_NS;

	while (atomic_load(&loads->shared->ready) < wanted) {
		if (loads_interrupted)
			return -EINTR;
		if (loads_have_ended(loads))
			return -ECHILD;
		if (clock_ns() > limit)
			return -ETIMEDOUT;
		usleep(1000);
	}
	return 0;
}

int64_t loads_zero(int64_t lead)
{
	int64_t zero = clock_ns() + lead;

	return zero - zero % ALIGN_NS + ALIGN_NS + OFFSET_NS;
}

void loads_go(struct loads *loads, int64_t zero, int64_t stop)
{
	struct shared *shared = loads->shared;

	shared->zero = zero;
	shared->stop = stop;
	atomic_store(&shared->go, 1);
	syscall(SYS_futex, &shared->go, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

int loads_finish(struct loads *loads)
{
	int ret = 0;

	for (int i = 0; i < loads->child_count; i++) {
		int status;

		while (waitpid(loads->children[i], &status, 0) < 0)
			if (errno != EINTR)
				return -errno;
		loads->children[i] = 0;
		if (status) {
			fprintf(stderr, "%s: a load ended with status %#x\n",
				program_invocation_short_name, status);
			ret = -ECHILD;
		}
	}
	return ret;
}

bool loads_have_ended(const struct loads *loads)
{
	siginfo_t info = { 0 };

	for (int i = 0; i < loads->child_count; i++)
		if (loads->children[i] &&
		    (waitid(P_PID, (id_t)loads->children[i], &info, WEXITED | WNOHANG | WNOWAIT) ||
		     info.si_pid))
			return true;
	return false;
}

/* One that gets no time on its CPU, next to a task that never sleeps, ends elsewhere. */
static void kill_all(struct loads *loads)
{
	cpu_set_t own;

	CPU_ZERO(&own);
	sched_getaffinity(0, sizeof(own), &own);
	for (int i = 0; i < loads->child_count; i++) {
		if (!loads->children[i])
			continue;
		kill(loads->children[i], SIGKILL);
		sched_setaffinity(loads->children[i], sizeof(own), &own);
	}
	while (loads->child_count--)
		if (loads->children[loads->child_count])
			waitpid(loads->children[loads->child_count], NULL, 0);
}

void loads_end(struct loads *loads)
{
	if (loads->children)
		kill_all(loads);
	for (int i = 0; i < loads->task_count; i++)
		if (loads->tasks[i].releases)
			munmap(loads->tasks[i].releases,
			       loads->tasks[i].expected * sizeof(struct release));
	if (loads->tasks)
		munmap(loads->tasks, MAX_TASKS * sizeof(*loads->tasks));
	if (loads->shared)
		munmap(loads->shared, sizeof(*loads->shared));
	free(loads->children);
	loads->shared = NULL;
	loads->tasks = NULL;
	loads->children = NULL;
	loads->task_count = loads->child_count = 0;
}
