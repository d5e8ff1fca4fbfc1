// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random task sets, the same on every kernel for the same seed: tasks of random
 * policies that wait periodically with random system calls and then work, while
 * the priorities of some are changed. Not a test by itself: it writes tasks.csv,
 * and `lab/lab run task-sets` compares two kernels.
 *
 *	task_sets [--sets N] [--first N] [--seed N] [--length MS] [--hard]
 *
 * Of each wait it takes the lateness, from the time that was asked for to the
 * first instruction in user space, and what of it is not explained by tasks that
 * rank at least as high: the time that the CPU spent with lower-ranking tasks,
 * or idle, while the task was due. The kernel's own record of context switches
 * tells. That is what the shield must not increase: lateness itself depends on
 * which task happens to come first. So does which of two ordinary tasks does,
 * SCHED_IDLE ones among them; and where a time-out is relative, when it begins:
 * due is what the timer was armed for.
 */
#define _GNU_SOURCE
#include "options.h"
#include "lib/api.h"
#include "lib/churn.h"
#include "file.h"
#include "lib/shield.h"
#include "lib/task.h"
#include "lib/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TASKS 8
#define JOBS 128
#define CHANGES 8
#define SWITCHES (1 << 15)
#define SETUP (1 * MSEC)	/* for each task, until the set starts */

static struct {
	u64 sets, first, seed, length;
	bool hard;
} options = { .sets = 100, .seed = 1, .length = 30 };

struct change {
	u64 time;			/* from start; when it was done, on the clock */
	unsigned int task;
	struct policy policy;
};

struct job {
	u64 due, woke;
};

struct task {
	struct policy policy;
	const struct api *api;
	u64 phase, period, work;	/* ns */
	struct set *set;

	pid_t pid;
	unsigned int level;		/* at first */
	unsigned int jobs;
	int failed;			/* -errno of a call that failed */
	struct job job[JOBS];
};

struct set {
	u64 start;
	unsigned int tasks, changes;
	struct task task[TASKS];
	struct change change[CHANGES];
};

/* The record of context switches: from TIME on PID runs. */
static struct {
	unsigned int count;
	struct {
		u64 time;
		pid_t pid;
		int priority;		/* the kernel's: 99 - real-time priority */
	} at[SWITCHES];
} switches;

/* The record of timers armed: by PID, for EXPIRES on the timer's clock. */
static struct {
	unsigned int count;
	struct {
		pid_t pid;
		u64 expires;
	} at[SWITCHES];
} starts;

static struct policy random_policy(u64 *random)
{
	switch (pick(random, 8)) {
	case 0:
		return IDLE;
	case 1:
		return NICE((int)pick(random, 40) - 20);
	case 2:
		return RR((int)pick_between(random, 1, 97));
	default:
		return FIFO((int)pick_between(random, 1, 97));
	}
}

/*
 * On PREEMPT_RT some timers expire in a thread that has no priority: sleeps of
 * real-time tasks do not.
 */
static const struct api *random_api(u64 *random)
{
	static const char * const hard[] = {
		"clock_nanosleep", "clock_nanosleep_realtime", "clock_nanosleep_boottime",
		"clock_nanosleep_tai", "nanosleep", "futex", "futex_bitset", "futex_realtime",
		"ppoll", "pselect", "epoll_pwait2", "sigtimedwait",
	};

	if (options.hard)
		return api_find(hard[pick(random, ARRAY_SIZE(hard))]);
	return &apis[pick(random, api_count)];
}

static struct set *random_set(u64 number)
{
	struct set *set = shared_memory(sizeof(*set));
	u64 random = options.seed * 1000003 + number;
	u64 load = 0;

	set->tasks = pick_between(&random, 3, TASKS);
	for (unsigned int i = 0; i < set->tasks; i++) {
		struct task *task = &set->task[i];

		/* The first outranks all others: its lateness is the kernel's doing. */
		task->policy = i ? random_policy(&random) : FIFO(99);
		task->api = i ? random_api(&random) : api_find("clock_nanosleep");
		task->set = set;
		task->period = pick_between(&random, 1 * MSEC, 8 * MSEC);
		task->phase = pick_between(&random, 0, task->period);
		task->work = pick_between(&random, 10 * USEC, task->period / 4);
		if (!i)
			task->work = 5 * USEC;
		load += 1000 * task->work / task->period;
		if (load > 850)
			task->work = 10 * USEC;
		task->level = policy_level(task->policy);
	}
	set->changes = pick(&random, CHANGES + 1);
	for (unsigned int i = 0; i < set->changes; i++)
		set->change[i] = (struct change){
			.time = options.length * MSEC * (i + 1) / (CHANGES + 1),
			.task = pick_between(&random, 1, set->tasks - 1),
			.policy = random_policy(&random),
		};
	return set;
}

static void work_periodically(void *argument)
{
	struct task *task = argument;
	u64 end = task->set->start + options.length * MSEC;
	u64 expiry = task->set->start + task->phase;

	while (expiry < end && task->jobs < JOBS) {
		struct job job = { 0 };
		int ret = task->api->wait(task->api, expiry, &job.due);

		job.woke = now();
		if (ret) {
			task->failed = ret;
			break;
		}
		task->job[task->jobs++] = job;
		spin_until(job.woke + task->work);
		while (expiry <= now())
			expiry += task->period;
	}
	pause();
}

static void play(struct set *set)
{
	set->start = now() + (set->tasks + 2) * SETUP * slowness();
	for (unsigned int i = 0; i < set->tasks; i++)
		set->task[i].pid = spawn(set->task[i].policy, 0, work_periodically,
					 &set->task[i]);
	require(now() < set->start, "prepared too late");
	trace_on();
	for (unsigned int i = 0; i < set->changes; i++) {
		struct change *change = &set->change[i];

		sleep_until(set->start + change->time);
		change->time = now();
		set_policy(set->task[change->task].pid, change->policy);
	}
	sleep_until(set->start + (options.length + 10) * MSEC);
	trace_off();
	for (unsigned int i = 0; i < set->tasks; i++)
		kill(set->task[i].pid, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

/* "   comm-7   [000] ... 12.345678: hrtimer_start: ... expires=12345678901 ..." */
static void read_start(const char *line, const char *event)
{
	const char *expires = strstr(event, " expires="), *pid = strstr(line, " [");

	if (!expires || !pid || starts.count == SWITCHES)
		return;
	while (pid > line && pid[-1] == ' ')
		pid--;
	while (pid > line && pid[-1] != '-')
		pid--;
	starts.at[starts.count].pid = atoi(pid);
	starts.at[starts.count++].expires = strtoull(expires + strlen(" expires="), NULL, 10);
}

/* " ... 12.345678: sched_switch: ... ==> next_comm=a b next_pid=7 next_prio=49" */
static void read_event(char *line, void *argument)
{
	char *event = strstr(line, ": sched_switch: ");
	char *start = strstr(line, ": hrtimer_start: ");
	char *next, *time = event;
	u64 seconds, micros;
	int priority;
	pid_t pid;

	if (start)
		read_start(line, start);
	if (!event || switches.count == SWITCHES)
		return;
	while (time > line && time[-1] != ' ')
		time--;
	next = strstr(event, "==> next_comm=");
	next = next ? strstr(next, " next_pid=") : NULL;
	if (!next || sscanf(time, "%llu.%llu", &seconds, &micros) != 2 ||
	    sscanf(next, " next_pid=%d next_prio=%d", &pid, &priority) != 2)
		return;
	switches.at[switches.count].time = seconds * SEC + micros * USEC;
	switches.at[switches.count].pid = pid;
	switches.at[switches.count++].priority = priority;
}

static const struct task *find(const struct set *set, pid_t pid)
{
	for (unsigned int i = 0; i < set->tasks; i++)
		if (set->task[i].pid == pid)
			return &set->task[i];
	return NULL;
}

/* By the changes that had been made by TIME. */
static unsigned int level_at(const struct set *set, const struct task *task, u64 time)
{
	unsigned int level = task->level;

	for (unsigned int i = 0; i < set->changes; i++)
		if (&set->task[set->change[i].task] == task && set->change[i].time <= time)
			level = policy_level(set->change[i].policy);
	return level;
}

static unsigned int running_level(const struct set *set, unsigned int number, u64 time)
{
	const struct task *task = find(set, switches.at[number].pid);
	int priority = switches.at[number].priority;

	if (task)
		return level_at(set, task, time);
	if (!switches.at[number].pid)
		return LEVEL_FAIR;
	return priority < 0 ? LEVEL_DEADLINE :
	       priority < 100 ? LEVEL_FIFO + 99 - priority : LEVEL_FAIR;
}

/*
 * For when the timer of JOB was armed, on CLOCK_MONOTONIC: later than it was due if
 * others ran while the task worked out for how long to wait.
 */
static u64 armed_for(const struct task *task, const struct job *job)
{
	u64 due = job->due;

	for (unsigned int i = 0; i < starts.count; i++) {
		u64 expires = starts.at[i].expires;

		if (starts.at[i].pid == task->pid && expires > due && expires <= job->woke)
			due = expires;
	}
	return due;
}

/* How long lower-ranking tasks ran, or none, between JOB's expiry and its wake-up. */
static u64 unexplained(const struct set *set, const struct task *task, const struct job *job)
{
	u64 sum = 0, due = armed_for(task, job);

	for (unsigned int i = 0; i < switches.count; i++) {
		u64 from = switches.at[i].time;
		u64 to = i + 1 < switches.count ? switches.at[i + 1].time : job->woke;

		if (from < due)
			from = due;
		if (to > job->woke)
			to = job->woke;
		/* While a priority changes, either value may count. */
		if (from < to && switches.at[i].pid != task->pid &&
		    running_level(set, i, from) < level_at(set, task, due) &&
		    running_level(set, i, to) < level_at(set, task, job->woke))
			sum += to - from;
	}
	return sum;
}

static void report(FILE *file, u64 number, const struct set *set)
{
	for (unsigned int i = 0; i < set->tasks; i++) {
		const struct task *task = &set->task[i];
		u64 latest = 0, worst = 0;

		require(!task->failed, "set %llu, task %u: %s: %s", number, i, task->api->name,
			strerror(-task->failed));
		for (unsigned int j = 0; j < task->jobs; j++) {
			const struct job *job = &task->job[j];
			u64 rest = unexplained(set, task, job);

			require(job->woke >= job->due, "set %llu, task %u: %s was early", number, i,
				task->api->name);
			latest = job->woke - job->due > latest ? job->woke - job->due : latest;
			worst = rest > worst ? rest : worst;
		}
		fprintf(file, "%llu,%u,%u,%s,%u,%llu,%llu\n", number, i, task->level,
			task->api->name, task->jobs, latest, worst);
	}
}

/* One set in a process of its own: what it leaves behind ends with it. */
static void run_set(void)
{
	u64 number = options.first + test_argument();
	FILE *file = fopen("tasks.csv", "ae");
	struct set *set;

	require(file, "tasks.csv: %s", strerror(errno));

	trace_prepare();
	require(!file_write("/sys/kernel/tracing/trace_clock", "mono"), "no mono trace clock");
	trace_enable("sched/sched_switch");
	trace_enable("timer/hrtimer_start");
	pin(0);
	become(FIFO(98));
	set = random_set(number);
	play(set);
	become(OTHER);
	trace_for_each(read_event, NULL);
	require(switches.count && switches.count < SWITCHES, "%u switches recorded",
		switches.count);
	report(file, number, set);
	fclose(file);
}

static void usage(FILE *out)
{
	fputs("usage: task_sets [--sets N] [--first N] [--seed N] [--length MS] [--hard]\n", out);
}

int main(int argc, char **argv)
{
	const struct opt opts[] = {
		{ 'n', "sets", OPT_WIDE((int64_t *)&options.sets, 1, 100000) },
		{ 'f', "first", OPT_WIDE((int64_t *)&options.first, 0, 1000000000) },
		{ 's', "seed", OPT_WIDE((int64_t *)&options.seed, 0, UINT32_MAX) },
		{ 'l', "length", OPT_WIDE((int64_t *)&options.length, 10, 100) },
		{ 'H', "hard", OPT_FLAG(&options.hard) },
		{ }
	};
	struct test *tests;
	char *names;
	FILE *file, *summary;

	parse_options(argc, argv, opts, usage);
	tests = calloc(options.sets, sizeof(*tests));
	names = calloc(options.sets, 24);
	file = fopen("tasks.csv", "we");
	if (!tests || !names || !file) {
		perror(argv[0]);
		return 2;
	}
	summary = fopen("summary.csv", "we");
	if (!summary) {
		perror("summary.csv");
		return 2;
	}
	fprintf(summary, "name,value\nsets,%llu\nfirst,%llu\nseed,%llu\nlength_ms,%llu\n",
		options.sets, options.first, options.seed, options.length);
	fclose(summary);
	fputs("set,task,level,api,jobs,lateness_ns,unexplained_ns\n", file);
	fclose(file);
	for (u64 i = 0; i < options.sets; i++) {
		tests[i] = (struct test){ names + 24 * i, run_set, i };
		snprintf(names + 24 * i, 24, "set_%llu", (options.first + i));
	}
	return run_tests(1, argv, tests, options.sets, TESTS_KEEP_SWITCH);
}
