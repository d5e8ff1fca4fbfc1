// SPDX-License-Identifier: GPL-2.0-or-later
/* Loads: what they consist of, and the processes that they run in. */
#define _GNU_SOURCE
#include "response.h"
#include "clock.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define SPREAD_FROM 1
#define SPREAD_TO 90

struct kind {
	const char *name;
	const char *help;
	int policy;
	bool unprivileged;
	bool samples;		/* has a record of every release */
	bool process_each;
	void (*plan)(const struct load *load, int i, struct task *task, uint64_t *seed);
	int (*run)(struct run *run, struct task *tasks, int count);
};

/* Periods of automotive task sets in ms (Kramer, Ziegenbein, Hamann 2015). */
static const int bosch_ms[] = { 1, 2, 5, 10, 20, 50, 100, 200, 1000 };
#define LONG_FROM 2	/* "long" draws from 5 ms on, for sets of a thousand */

static void plan_sleeper(const struct load *load, int i, struct task *task, uint64_t *seed)
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
static void plan_timerfd(const struct load *load, int i, struct task *task, uint64_t *seed)
{
	task->period = (i + 1) * NSEC_PER_USEC;
	task->phase = task->period;
}

/* evenly from 1 to 10 ms, never a multiple of the loop's period */
static void plan_even(const struct load *load, int i, struct task *task, uint64_t *seed)
{
	task->period = NSEC_PER_MSEC + 9 * NSEC_PER_MSEC * i / load->count + 17;
	task->phase = task->period;
}

static int run_itimers(struct run *run, struct task *tasks, int count)
{
	return itimer_run(run, tasks);
}

/* Never sleeps: what the scheduler itself arms for it is all that can interrupt a job. */
static int run_hog(struct run *run, struct task *tasks, int count)
{
	if (task_become(tasks))
		return 1;
	task_ready_and_wait(run, 1);
	while (clock_ns() < run->shared->stop)
		;
	return 0;
}

/*
 * The program of rt-tests itself, a process each as in the paper. All have to have
 * begun before the first job: one that begins next to jobs of 1 ms never has its turn
 * in one, and if its period is a multiple of 1 ms its timers never expire in one.
 */
static int run_cyclictest(struct run *run, struct task *tasks, int count)
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
	task_ready_and_wait(run, 1);
	sleep_until(run->shared->stop);
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

void load_describe(FILE *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		fprintf(out, "  %-14s %s\n", kinds[i].name, kinds[i].help);
}

static int parse_setting(char *setting, struct load *load)
{
	char *value = strchr(setting, '=');
	char *end = "";

	if (value)
		*value++ = '\0';
	if (!strcmp(setting, "n") && value)
		load->count = strtol(value, &end, 10);
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

int load_parse(const char *text, struct load *load)
{
	char *copy = strdup(text), *rest = copy, *word;
	int ret = -EINVAL;

	*load = (struct load){ .count = 1, .priority = 70, .periods = "bosch" };
	word = strsep(&rest, ":");
	if (!word || !find_kind(word))
		goto out;
	load->name = find_kind(word)->name;
	ret = 0;
	while (!ret && (word = strsep(&rest, ",")))
		ret = parse_setting(word, load);
	if (load->count < 1 || load->count > 10000 || load->priority > 98 ||
	    load->period < 0 || load->period > 1000 * NSEC_PER_SEC)
		ret = -EINVAL;
out:
	free(copy);
	return ret;
}

int load_plan(struct run *run, const struct load *load)
{
	const struct kind *kind = find_kind(load->name);
	int64_t span = (run->options.warmup + run->options.jobs) * run->options.period;
	uint64_t seed = run->options.seed + run->task_count;

	if (run->task_count + load->count > run->task_room)
		return -E2BIG;
	for (int i = 0; i < load->count; i++) {
		struct task *task = &run->tasks[run->task_count++];

		task->kind = kind->name;
		task->policy = kind->policy;
		task->unprivileged = kind->unprivileged;
		kind->plan(load, i, task, &seed);
		if (!kind->samples)
			continue;
		task->expected = releases_due(task, span);
		task->releases = shared_alloc(task->expected * sizeof(*task->releases));
	}
	return 0;
}

int load_fork(struct run *run)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!run->options.anywhere && task_pin(run->options.cpu))
			_exit(1);
	} else {
		run->children[run->child_count++] = pid;
	}
	return pid;
}

static int start_process(struct run *run, const struct kind *kind, struct task *tasks,
			 int count)
{
	int pid = load_fork(run);

	if (!pid)
		_exit(kind ? kind->run(run, tasks, count) : spare_run(run));
	return pid < 0 ? pid : 0;
}

int load_start(struct run *run)
{
	int ret = 0;

	for (int i = 0; i < run->task_count && !ret;) {
		const struct kind *kind = find_kind(run->tasks[i].kind);
		int n = 1;

		while (!kind->process_each && i + n < run->task_count &&
		       run->tasks[i + n].kind == kind->name)
			n++;
		ret = start_process(run, kind, &run->tasks[i], n);
		i += n;
	}
	if (!ret && run->options.spare)
		ret = start_process(run, NULL, NULL, 0);
	return ret;
}

int load_wait_ready(struct run *run)
{
	int wanted = run->task_count + run->options.spare;
	int64_t limit = clock_ns() + 60 * NSEC_PER_SEC;

	while (atomic_load(&run->shared->ready) < wanted) {
		if (waitpid(-1, NULL, WNOHANG) > 0) {
			fprintf(stderr, "response_loop: a load could not be set up\n");
			return -ECHILD;
		}
		if (clock_ns() > limit) {
			fprintf(stderr, "response_loop: the loads do not get ready\n");
			return -ETIMEDOUT;
		}
		usleep(1000);
	}
	return 0;
}

int load_finish(struct run *run)
{
	int ret = 0;

	for (int i = 0; i < run->child_count; i++) {
		int status;

		while (waitpid(run->children[i], &status, 0) < 0)
			if (errno != EINTR)
				return -errno;
		run->children[i] = 0;
		if (status) {
			fprintf(stderr, "response_loop: a load ended with status %#x\n", status);
			ret = -ECHILD;
		}
	}
	return ret;
}

void load_kill(struct run *run)
{
	for (int i = 0; i < run->child_count; i++)
		if (run->children[i])
			kill(run->children[i], SIGKILL);
}
