// SPDX-License-Identifier: GPL-2.0-or-later
/* The processes of an iteration, a sender and a receiver, each in its namespace; how they wait. */
#define _GNU_SOURCE
#include "aoi.h"
#include "clock.h"
#include "tasks.h"

#include <clockfix.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

const char *const timing_names[TIMING_KINDS] = { "nanosleep", "clockfix", "poll" };

int timing_open(struct timing *timing, enum timing_kind kind)
{
	*timing = (struct timing){ .kind = kind };
	prctl(PR_SET_TIMERSLACK, 1UL);
	if (kind == TIMING_CLOCKFIX)
		return clockfix_sleeper_create(&timing->sleeper, NULL);
	return 0;
}

void timing_wait(struct timing *timing, int64_t instant)
{
	switch (timing->kind) {
	case TIMING_NANOSLEEP:
		sleep_until(instant);
		break;
	case TIMING_CLOCKFIX:
		while (clockfix_sleep_until(timing->sleeper, CLOCK_MONOTONIC, instant))
			;
		break;
	default:
		while (clock_ns() < instant)
			;
	}
}

void timing_close(struct timing *timing)
{
	clockfix_sleeper_destroy(timing->sleeper);
	timing->sleeper = NULL;
}

void flag_set(atomic_int *flag, int value)
{
	atomic_store(flag, value);
	syscall(SYS_futex, flag, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

int flag_wait(atomic_int *flag, int64_t patience)
{
	int64_t limit = clock_ns() + patience;

	while (!atomic_load(flag)) {
		struct timespec left = to_timespec(limit - clock_ns());

		if (left.tv_sec < 0 || left.tv_nsec < 0)
			return -ETIMEDOUT;
		syscall(SYS_futex, flag, FUTEX_WAIT, 0, &left, NULL, 0);
	}
	return 0;
}

int64_t process_cpu_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec * NSEC_PER_SEC + time.tv_nsec;
}

int process_prepare(const struct run *run, const struct node *node)
{
	int ret = network_enter(node);

	if (!ret)
		ret = task_pin(node->cpu);
	if (!ret && run->options.priority)
		ret = task_fifo(0, run->options.priority);
	if (!ret && mlockall(MCL_CURRENT | MCL_FUTURE))
		ret = -errno;
	return ret;
}

static pid_t start(struct run *run, struct iteration *iteration,
		   int (*function)(struct run *run, struct iteration *iteration))
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid < 0 ? -errno : pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	_exit(function(run, iteration));
}

int process_run_iteration(struct run *run, struct iteration *iteration)
{
	pid_t pids[2] = { 0 };
	int ret = 0, left = 0;

	pids[0] = start(run, iteration, receiver_run);
	pids[1] = start(run, iteration, sender_run);
	for (int i = 0; i < 2; i++) {
		if (pids[i] > 0)
			left++;
		else
			ret = pids[i];
	}
	while (left) {
		int status;
		pid_t pid;

		if (ret)
			for (int i = 0; i < 2; i++)
				if (pids[i] > 0)
					kill(pids[i], SIGKILL);
		pid = wait(&status);
		if (pid < 0)
			continue;
		for (int i = 0; i < 2; i++)
			if (pids[i] == pid)
				pids[i] = 0;
		left--;
		if (status && !ret)
			ret = -ECHILD;
	}
	return ret;
}
