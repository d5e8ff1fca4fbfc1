// SPDX-License-Identifier: GPL-2.0-or-later
#include "schedule.h"
#include "isolate/isolation.h"
#include "lib/cgroup.h"
#include "lib/message.h"
#include "lib/refusal.h"
#include "lib/task.h"

#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ROUNDS 10

static int refuse_broken(const struct cpus *cpus)
{
	autofree char *are = cpus_are(cpus);

	return failed(-EINVAL, "%s not isolated any more: see 'timershield status'", are);
}

/* Those in the partition, or else those isolated at boot: a process cannot have both. */
static int choose_isolated(struct placement *placement, const struct isolation *isolation)
{
	placement->cpus = cpus_and_not(&isolation->isolated, &isolation->booted);
	if (cpus_empty(&placement->cpus))
		placement->cpus = isolation->booted;
	if (!cpus_empty(&placement->cpus))
		return 0;
	if (!cpus_empty(&isolation->procs) &&
	    machine_check_online(&isolation->machine, &isolation->procs))
		return -ENODEV;
	if (!cpus_empty(&isolation->procs))
		return refuse_broken(&isolation->procs);
	return failed(-EINVAL, "no CPU is isolated: 'timershield isolate CPULIST' first, or choose CPUs with -c");
}

static int check_chosen(const struct placement *placement, const struct isolation *isolation)
{
	const struct cpus *cpus = &placement->cpus;
	struct cpus outside = cpus_and_not(cpus, &isolation->isolated);
	struct cpus broken = cpus_and(&outside, &isolation->procs);
	autofree char *are = cpus_are(&outside), *named = cpus_named(cpus);
	int ret = machine_check_online(&isolation->machine, cpus);

	if (ret)
		return ret;
	if (!cpus_empty(&broken))
		return refuse_broken(&broken);
	if (cpus_intersect(cpus, &isolation->isolated) && !cpus_empty(&outside))
		return failed(-EINVAL, "%s not isolated, others of the list are: a process cannot have both",
			      are);
	if (cpus_intersect(cpus, &isolation->booted) && !cpus_subset(cpus, &isolation->booted))
		return failed(-EINVAL, "%s were isolated partly at boot, partly later: a process cannot have both",
			      named);
	if (!cpus_empty(&outside))
		notice("%s not isolated", are);
	return 0;
}

/* Noted first where it came from, so that unisolate can send it back. */
static int enter_partition(struct isolation *isolation, pid_t pid)
{
	autofree char *origin = cgroup_path(pid), *name = format("run-%d", pid);
	struct journal *journal = &isolation->journal;
	struct run_group *known;
	int ret;

	if (!origin)
		return failed(-ESRCH, "no such process: %d", pid);
	if (partition_is(origin))
		return 0;
	partition_forget_ended(isolation->mount, journal);
	known = journal_run(journal, name);
	if (known)
		journal_drop_run(journal, known);
	journal_add_run(journal, name, origin, 0);
	ret = journal_save(journal);
	return ret ? ret : partition_enter(isolation->mount, name, pid);
}

/* Whether one of these CPUs can be had in the partition only. */
static bool wants_partition(const struct placement *placement, const struct isolation *isolation)
{
	return cpus_intersect(&placement->cpus, &isolation->partition.isolated);
}

static int set_affinity(pid_t tid, const struct cpus *cpus)
{
	autofree char *list = cpus_named(cpus);
	int ret = task_set_affinity(tid, cpus);

	if (ret && ret != -ESRCH)
		failed(ret, "cannot let %d run on %s: %s", tid, list,
		       ret == -EPERM ? "not permitted (run as root)" :
		       ret == -EINVAL ? "its cpuset, or the kernel, does not allow these" :
		       strerror(-ret));
	return ret;
}

int schedule_thread(pid_t tid, const struct placement *placement)
{
	const struct sched_param param = {
		.sched_priority = placement->priority == UNSET ? 0 : placement->priority,
	};

	if (placement->policy == UNSET || !sched_setscheduler(tid, placement->policy, &param))
		return 0;
	if (errno == ESRCH)
		return -ESRCH;
	return refusal_failed(-errno, tid, param.sched_priority);
}

/*
 * Threads may start others meanwhile: until all have the affinity, or cannot have it because their
 * cpuset lacks some of the CPUs. Affinity before policy: at its new level a thread must not compete
 * with other tasks.
 */
static int set_all_threads(const struct placement *placement)
{
	unsigned int missed = 1;
	int ret = 0;

	for (unsigned int i = 0; i < ROUNDS && !ret && missed; i++) {
		autotasks struct tasks threads = { 0 };

		ret = tasks_read_threads(&threads, placement->pid);
		missed = 0;
		tasks_for_each(thread, &threads) {
			missed += !cpus_equal(&thread->cpus, &placement->cpus);
			if (!ret)
				ret = set_affinity(thread->tid, &placement->cpus);
			if (!ret)
				ret = schedule_thread(thread->tid, placement);
			if (ret == -ESRCH)
				ret = 0;
		}
	}
	if (!ret && missed)
		notice("%u threads of %d may run on some of these CPUs only, by their cpuset",
		       missed, placement->pid);
	return ret;
}

/* The kernel keeps some where they are; all of them may have another level. */
static int place_kernel_thread(const struct placement *placement, const struct task *task)
{
	int ret = 0;

	if (placement->listed && task->flags & TASK_BOUND)
		return failed(-EINVAL, "the kernel keeps %s where it is; without -c its priority can be set",
			      task->name);
	if (!placement->listed && placement->policy == UNSET)
		return failed(-EINVAL, "%s is a kernel thread: -p sets its priority, -c its CPUs",
			      task->name);
	if (placement->listed)
		ret = set_affinity(task->tid, &placement->cpus);
	return ret ? ret : schedule_thread(task->tid, placement);
}

/*
 * Else the partition's CPU on which the kernel puts this process may be one whose task never
 * sleeps. From Linux 6.2 on it heeds this.
 */
static void ask_for_cpus(const struct placement *placement, const struct isolation *isolation)
{
	struct cpus cpus = cpus_and_not(&isolation->machine.online, &isolation->partition.isolated);

	cpus = cpus_or(&cpus, &placement->cpus);
	task_set_affinity(0, &cpus);
}

static int place_process(struct placement *placement, struct isolation *isolation)
{
	pid_t pid = placement->pid ? placement->pid : getpid();
	const bool wanted = wants_partition(placement, isolation);
	int ret = 0;

	if (wanted && !placement->pid)
		ask_for_cpus(placement, isolation);
	if (wanted)
		ret = enter_partition(isolation, pid);
	else if (partition_has(pid))
		ret = partition_leave(isolation->mount, &isolation->journal, pid);
	if (ret)
		return ret;
	if (placement->pid)
		return set_all_threads(placement);
	ret = set_affinity(0, &placement->cpus);
	/* 1 ns instead of 50 us: what ordinary policies' sleeps may be late by. */
	prctl(PR_SET_TIMERSLACK, 1);
	return ret;
}

static int open_and_choose(struct placement *placement, struct isolation *isolation)
{
	int ret = isolation_open(isolation, true);

	if (ret)
		return ret;
	return placement->listed ? check_chosen(placement, isolation) :
	       choose_isolated(placement, isolation);
}

/* The kernel waits for RCU's threads when a process changes its cpuset. */
static int place_in_partition(struct placement *placement, struct isolation *isolation)
{
	struct journal *journal = &isolation->journal;
	int ret = rcu_threads_plan(journal), other = 0;
	sigset_t before;

	if (!ret && journal->raised.count)
		ret = journal_save(journal);
	if (ret)
		return ret;
	isolation_hold_signals(&before);
	rcu_threads_raise(journal);
	ret = place_process(placement, isolation);
	rcu_threads_lower(journal);
	if (journal->raised.count) {
		records_free(&journal->raised);
		other = journal_save(journal);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return ret ? ret : other;
}

/* What the unlocked look found may have changed. */
static int place_locked(struct placement *placement)
{
	struct isolation isolation;
	int lock = journal_lock(), ret;

	if (lock < 0)
		return lock;
	ret = open_and_choose(placement, &isolation);
	if (!ret && (isolation.damaged || isolation.lost))
		ret = isolation_refuse_damaged(&isolation);
	if (!ret)
		ret = place_in_partition(placement, &isolation);
	isolation_close(&isolation);
	close(lock);
	return ret;
}

static int place_any(struct placement *placement)
{
	struct isolation isolation;
	struct task task = { 0 };
	bool locked;
	int ret = placement->pid ? task_read(&task, placement->pid, placement->pid) : 0;

	if (ret)
		return ret;
	if (task.flags & TASK_KERNEL_THREAD && !placement->listed)
		return place_kernel_thread(placement, &task);
	ret = open_and_choose(placement, &isolation);
	locked = wants_partition(placement, &isolation) ||
		 partition_has(placement->pid ? placement->pid : getpid());
	if (!ret && task.flags & TASK_KERNEL_THREAD)
		ret = place_kernel_thread(placement, &task);
	else if (!ret && !locked)
		ret = place_process(placement, &isolation);
	isolation_close(&isolation);
	if (!ret && locked && !(task.flags & TASK_KERNEL_THREAD))
		ret = place_locked(placement);
	return ret;
}

/*
 * A process id may be another process's by the time that it is used. One that has not
 * ended afterwards was the same all the time.
 */
int schedule_process(struct placement *placement)
{
	struct pollfd process = { .events = POLLIN };	/* which come when it ends */
	int ret;

	if (!placement->pid)
		return place_any(placement);
	process.fd = (int)syscall(SYS_pidfd_open, placement->pid, 0);
	if (process.fd < 0) {
		ret = -errno;
		return failed(ret, ret == -ESRCH ? "no such process: %d" :
			      "%d is not a process; it may be a thread of one", placement->pid);
	}
	ret = place_any(placement);
	if (ret == -ESRCH || (!ret && poll(&process, 1, 0) == 1))
		ret = failed(-ESRCH, "process %d has ended", placement->pid);
	close(process.fd);
	return ret;
}
