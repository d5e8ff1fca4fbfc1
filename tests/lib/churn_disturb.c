// SPDX-License-Identifier: GPL-2.0-or-later
/* What changes under the workers' feet; and the worker that dies with armed timers. */
#define _GNU_SOURCE
#include "churn.h"
#include "file.h"
#include "shield.h"
#include "task.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

static void *sleep_for_ever(void *argument)
{
	sleep_for(3600 * SEC);
	return NULL;
}

/* Arms timers of every kind that outlive the call, and ends in one of three ways. */
static void arm_and_die(u64 random)
{
	struct itimerspec setting = { .it_interval = to_timespec(700 * USEC) };
	struct itimerval alarm = { .it_value = { .tv_usec = 1000 } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	pthread_t thread;
	timer_t timer;

	signal(SIGRTMIN, SIG_IGN);
	signal(SIGALRM, SIG_IGN);
	for (int i = 0; i < 3; i++) {
		setting.it_value = to_timespec(pick_delay(&random));
		timerfd_settime(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), 0, &setting,
				NULL);
		if (!timer_create(CLOCK_REALTIME, &event, &timer))
			timer_settime(timer, 0, &setting, NULL);
	}
	setitimer(ITIMER_REAL, &alarm, NULL);
	if (!pthread_create(&thread, NULL, sleep_for_ever, NULL))
		spin_until(now() + pick_between(&random, 1, 500 * USEC));
	switch (pick(&random, 3)) {
	case 0:
		raise(SIGKILL);
		break;
	case 1:
		pthread_exit(NULL);
		break;
	default:
		_exit(0);
	}
}

void churn_exit(struct worker *worker)
{
	while (!churn_stopped(worker->churn)) {
		u64 random = pick(&worker->random, UINT64_MAX);
		pid_t pid = fork();

		if (!pid)
			arm_and_die(random);
		/* A SCHED_DEADLINE task, which it may have become, cannot fork. */
		if (pid < 0 && errno == EAGAIN) {
			sleep_for(1 * MSEC);
			continue;
		}
		if (pid < 0) {
			blame(worker, BROKEN, "fork: %m");
			return;
		}
		worker->armed++;
		sleep_for(pick_delay(&worker->random));
		kill(pid, SIGKILL);
		if (waitpid(pid, NULL, 0) != pid)
			blame(worker, BROKEN, "waitpid: %m");
		worker->cancelled++;
	}
}

/*
 * Sleeps, longer on a slow kernel; and while the churn pauses, unless somebody is still busy.
 * Unloading a module waits for each task that is runnable. A SCHED_DEADLINE task that was throttled
 * and had another policy when its time came stays throttled: Linux ignores its timer then. It runs
 * once its policy is changed again.
 */
static void rest(struct disturber *disturber, u64 duration)
{
	const struct churn *churn = disturber->churn;

	sleep_for(duration * slowness());
	while (__atomic_load_n(&churn->pause, __ATOMIC_ACQUIRE) &&
	       !__atomic_load_n(&churn->busy, __ATOMIC_ACQUIRE))
		sleep_for(2 * MSEC * slowness());
}

void disturb_by_load(struct disturber *disturber)
{
	u64 *random = &disturber->random;

	for (;;) {
		set_policy(0, FIFO((int)pick_between(random, 1, 97)));
		spin_until(now() + pick_between(random, 20 * USEC, 2 * MSEC));
		rest(disturber, pick_between(random, 500 * USEC, 5 * MSEC));
	}
}

/*
 * SCHED_DEADLINE with one CPU only: stock 6.12 warns in dl_server_start() and
 * crashes in inactive_task_timer() when CPUs go and come among such tasks. On
 * PREEMPT_RT it warns in replenish_dl_entity() when such a task exits.
 */
static struct policy pick_policy(u64 *random, int cpus)
{
	switch (pick(random, cpus > 1 || kernel_is_rt() ? 7 : 8)) {
	case 0:
		return IDLE;
	case 1:
		return NICE((int)pick(random, 40) - 20);
	case 2:
		return BATCH((int)pick(random, 20));
	case 3:
		return RR((int)pick_between(random, 1, 97));
	case 7:
		return DEADLINE(2 * MSEC, 20 * MSEC);
	default:
		return FIFO((int)pick_between(random, 1, 97));
	}
}

/*
 * SCHED_DEADLINE may be refused for want of bandwidth, a CPU that is offline for
 * an affinity: that is no fault. On PREEMPT_RT stock 6.12 warns in
 * affine_move_task() when a task that may not migrate is to go to a CPU that goes
 * offline before it does (seed 2 on x86_64-rt-stock, after 28 s): CPUs go there
 * and affinities stay.
 */
void disturb_policies(struct disturber *disturber)
{
	struct churn *churn = disturber->churn;
	u64 *random = &disturber->random;

	for (;;) {
		struct worker *worker = &churn->workers[pick(random, churn->count)];

		set_policy(worker->pid, pick_policy(random, churn->cpus));
		if (churn->cpus > 1 && !kernel_is_rt() && !pick(random, 4))
			set_affinity(worker->pid, pick(random, CPU(churn->cpus)));
		rest(disturber, pick_between(random, 50 * USEC, 600 * USEC));
	}
}

/* What may take longer than a rest, which therefore waits for its end. */
static void unless_pausing(struct disturber *disturber, void (*disturb)(struct disturber *))
{
	struct churn *churn = disturber->churn;

	__atomic_fetch_add(&churn->busy, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&churn->pause, __ATOMIC_SEQ_CST))
		disturb(disturber);
	__atomic_fetch_sub(&churn->busy, 1, __ATOMIC_SEQ_CST);
}

/* Both patch the kernel. */
static void switch_or_load(struct disturber *disturber)
{
	if (shield_is_module() && pick(&disturber->random, 3)) {
		shield_load(false);
		shield_load(true);
		disturber->churn->loads++;
	} else {
		shield_set_mode(pick(&disturber->random, shield_highest_mode() + 1));
	}
}

void disturb_switch(struct disturber *disturber)
{
	if (disturber->churn->steady || (!shield_is_module() && !shield_present()))
		pause();
	for (;;) {
		rest(disturber, pick_between(&disturber->random, 100 * USEC, 20 * MSEC));
		unless_pausing(disturber, switch_or_load);
	}
}

/* Forward or back by up to 40 ms, for some milliseconds, and back again. */
void disturb_clock(struct disturber *disturber)
{
	unsigned int *sets = &disturber->churn->clock_sets;
	u64 *random = &disturber->random;

	for (;;) {
		s64 by = pick_between(random, 1, 40 * MSEC);

		if (pick(random, 2))
			by = -by;
		__atomic_fetch_add(sets, 1, __ATOMIC_ACQ_REL);
		move_clock(by);
		sleep_for(pick_between(random, 1, 5 * MSEC));
		move_clock(-by);
		__atomic_fetch_add(sets, 1, __ATOMIC_ACQ_REL);
		rest(disturber, pick_between(random, 1 * MSEC, 20 * MSEC));
	}
}

static void set_online(int cpu, bool online)
{
	char path[64];
	int ret;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	ret = file_write(path, online ? "1" : "0");
	if (ret && ret != -EBUSY)
		fault("%s: %s", path, strerror(-ret));
}

static void take_a_cpu_away(struct disturber *disturber)
{
	int cpu = pick_between(&disturber->random, 1, disturber->churn->cpus - 1);

	set_online(cpu, false);
	sleep_for(pick_between(&disturber->random, 1 * MSEC, 50 * MSEC));
	set_online(cpu, true);
}

void disturb_cpus(struct disturber *disturber)
{
	for (;;) {
		unless_pausing(disturber, take_a_cpu_away);
		rest(disturber, pick_between(&disturber->random, 10 * MSEC, 100 * MSEC));
	}
}
