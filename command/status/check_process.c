// SPDX-License-Identifier: GPL-2.0-or-later
/* Status of one process: whether it is ready for real time. */
#include "finding.h"
#include "lib/cgroup.h"
#include "lib/file.h"
#include "lib/message.h"
#include "lib/refusal.h"
#include "lib/task.h"

#include <linux/futex.h>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <time.h>

#define LOOKS 20			/* at what it waits for, in 0.1 s */
#define PAUSE_NS 5000000
#define UNLOCKABLE 64			/* kB, such as the vdso */

struct process {
	struct inspection *inspection;
	struct tasks threads;
	pid_t pid;
	const struct task *first;	/* the real-time thread of the highest priority; NULL: none */
	size_t others;			/* ordinary threads */
};

static bool is_realtime(const struct task *task)
{
	return task->rt_priority || task->policy == SCHED_DEADLINE;
}

struct memory {			/* kB */
	long long resident, unlocked;	/* of the second none is locked */
	long long absent;		/* locked, but not there: MCL_ONFAULT */
};

/* VmLck in status counts reserved addresses, too, so each mapping is asked. */
static int read_memory(pid_t pid, struct memory *memory)
{
	autofree char *path = format("/proc/%d/smaps", pid);
	autotext struct text text = { 0 };
	int ret = file_read(path, &text);
	long long size = 0, resident = 0;
	char access[5] = "";

	for (char *rest = NULL, *line = strtok_r(text.s, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		sscanf(line, "%*x-%*x %4s", access);
		sscanf(line, "Size: %lld", &size);
		sscanf(line, "Rss: %lld", &resident);
		if (strncmp(line, "VmFlags:", 8))
			continue;
		memory->resident += resident;
		if (strstr(line, " lo"))
			memory->absent += strncmp(access, "---", 3) ? size - resident : 0;
		/* of a device, or the kernel's own: these have no faults, and mlock() leaves them out */
		else if (!strstr(line, " io") && !strstr(line, " pf") && !strstr(line, " de"))
			memory->unlocked += resident;
	}
	return ret ? ret : memory->resident ? 0 : -ENODATA;
}

static void check_memory(const struct process *process)
{
	struct findings *findings = &process->inspection->findings;
	const enum severity severity = process->first ? FINDING_BAD : FINDING_WARNING;
	autofree char *mend = format("call mlockall(MCL_CURRENT | MCL_FUTURE) in it at its start%s",
				     task_may_lock_all(process->pid) ? "" :
				     ", and raise its limit: ulimit -l unlimited");
	struct memory memory = { 0 };
	int ret = read_memory(process->pid, &memory);

	if (ret)
		finding_unknown(findings, "memory", "Whether its memory is locked", "/proc/PID/smaps", ret);
	else if (memory.unlocked > UNLOCKABLE)
		finding_add(findings, severity, "memory", mend,
			    "%lld of its %lld kB are not locked: touching them may take a page fault.",
			    memory.unlocked, memory.resident);
	else if (memory.absent > UNLOCKABLE)
		finding_add(findings, severity, "memory", "call mlockall() without MCL_ONFAULT",
			    "Its memory is locked, but %lld kB are not there yet: touching them takes page faults.",
			    memory.absent);
	else
		finding_add(findings, FINDING_GOOD, "memory", "", "Its memory is locked (%lld kB).",
			    memory.resident);
}

/* Minor and major ones of all threads. */
static bool read_faults(pid_t pid, unsigned long long faults[2])
{
	autofree char *path = format("/proc/%d/stat", pid);
	autotext struct text text = { 0 };
	const char *at = file_read(path, &text) ? NULL : strrchr(text.s, ')');

	return at && sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %llu %*u %llu", &faults[0],
			    &faults[1]) == 2;
}

static void check_faults(const struct process *process, const unsigned long long before[2],
			 const unsigned long long after[2])
{
	const unsigned long long new = after[0] + after[1] - before[0] - before[1];

	finding_add(&process->inspection->findings, new ? FINDING_WARNING : FINDING_NOTE, "faults",
		    new ? "mlockall(), and touch memory and stack before the loop begins" : "",
		    "It has taken %llu minor and %llu major page faults so far, %llu of them in the last 0.1 s.",
		    after[0], after[1], new);
}

static void check_threads(struct process *process)
{
	struct findings *findings = &process->inspection->findings;
	autofree char *mend = format("timershield run -p 50 -P %d", process->pid);
	autotext struct text list = { 0 };

	tasks_for_each(thread, &process->threads) {
		autofree char *policy = policy_text(thread->policy, thread->rt_priority);

		if (!is_realtime(thread)) {
			process->others++;
			continue;
		}
		text_add(&list, "%s%s[%d] %s", list.length ? ", " : "", thread->name, thread->tid,
			 policy);
		if (!process->first || thread->priority < process->first->priority)
			process->first = thread;
	}
	if (!process->first)
		finding_add(findings, FINDING_BAD, "policy", mend,
			    "It has no real-time thread: any task may take its turn.");
	else
		finding_add(findings, FINDING_GOOD, "policy", "", "Real-time threads: %s; ordinary ones: %zu.",
			    list.s, process->others);
}

static void check_places(const struct process *process)
{
	const struct isolation *isolation = &process->inspection->isolation;
	autofree char *isolated = cpus_list(&isolation->isolated);
	autofree char *mend = cpus_empty(&isolation->isolated) ?
		format("timershield isolate CPU%s, then timershield run -P %d",
		       isolation->mount ? "" : " --by-affinity", process->pid) :
		format("timershield run -c %s -P %d", isolated, process->pid);

	tasks_for_each(thread, &process->threads) {
		autofree char *named = cpus_named(&thread->cpus);

		if (!is_realtime(thread) || (!cpus_empty(&isolation->isolated) &&
					     cpus_subset(&thread->cpus, &isolation->isolated)))
			continue;
		finding_add(&process->inspection->findings, FINDING_WARNING, "affinity", mend,
			    "Real-time thread %s[%d] may run on %s, which %s isolated: it may meet any task or interrupt there.",
			    thread->name, thread->tid, named,
			    cpus_count(&thread->cpus) == 1 ? "is not" : "are not all");
		return;
	}
	if (process->first)
		finding_add(&process->inspection->findings, FINDING_GOOD, "affinity", "",
			    "Its real-time threads run on isolated CPUs alone.");
}

/* The kernel puts no ordinary thread elsewhere where CPUs are isolated, though another one idles. */
static void check_balance(const struct process *process)
{
	const struct isolation *isolation = &process->inspection->isolation;
	struct cpus allowed = { 0 }, busy = { 0 }, idle;
	const struct task *last = NULL;
	unsigned int sharing = 0;

	tasks_for_each(thread, &process->threads) {
		if (is_realtime(thread) || thread->state != 'R' || cpus_count(&thread->cpus) < 2 ||
		    !cpus_subset(&thread->cpus, &isolation->isolated))
			continue;
		if (!last || thread->cpu == last->cpu)
			sharing++;
		cpus_add(&busy, thread->cpu);
		allowed = cpus_or(&allowed, &thread->cpus);
		last = last && thread->cpu != last->cpu ? last : thread;
	}
	idle = cpus_and_not(&allowed, &busy);
	if (sharing > 1 && !cpus_empty(&idle) && !isolation->journal.by_affinity) {
		autofree char *mend = format("pin each, such as: taskset -pc %u %d",
					     cpus_next(&idle, 0), last->tid);

		finding_add(&process->inspection->findings, FINDING_WARNING, "balance", mend,
			    "%u runnable threads share CPU %u, and CPU %u is idle: nobody balances isolated CPUs.",
			    sharing, last->cpu, cpus_next(&idle, 0));
	}
}

enum wait { WAIT_NONE, WAIT_PLAIN, WAIT_PI };

/* What kind of futex the thread waits for now. */
static enum wait look_at_wait(pid_t pid, pid_t tid)
{
	autofree char *path = format("/proc/%d/task/%d/syscall", pid, tid);
	autotext struct text text = { 0 };
	unsigned long operation;
	long number;

	if (file_read(path, &text) ||
	    sscanf(text.s, "%ld %*x %lx", &number, &operation) != 2 || number != SYS_futex)
		return WAIT_NONE;
	switch (operation & FUTEX_CMD_MASK) {
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
	case FUTEX_WAIT_REQUEUE_PI:
		return WAIT_PI;
	default:
		return WAIT_PLAIN;
	}
}

/* Also spends the time in which new faults are counted. */
static void check_locks(const struct process *process)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	const struct task *plain = NULL;
	unsigned int inheriting = 0;

	for (int i = 0; i < LOOKS; i++) {
		tasks_for_each(thread, &process->threads) {
			enum wait wait = is_realtime(thread) ?
					 look_at_wait(process->pid, thread->tid) : WAIT_NONE;

			inheriting += wait == WAIT_PI;
			if (wait == WAIT_PLAIN)
				plain = thread;
		}
		nanosleep(&pause, NULL);
	}
	if (plain)
		finding_add(&process->inspection->findings, FINDING_WARNING, "futex",
			    "if it is a mutex: pthread_mutexattr_setprotocol(…, PTHREAD_PRIO_INHERIT)",
			    "Real-time thread %s[%d] waits for a futex that lends its holder no priority: a mutex without inheritance, a condition, a semaphore.",
			    plain->name, plain->tid);
	else if (inheriting)
		finding_add(&process->inspection->findings, FINDING_GOOD, "futex", "",
			    "Where it waited for locks, they lend its priority to their holder.");
}

static void check_timer_slack(const struct process *process)
{
	tasks_for_each(thread, &process->threads) {
		autofree char *path = format("/proc/%d/timerslack_ns", thread->tid);
		long long slack;

		if (is_realtime(thread) || file_read_number(path, &slack) || slack <= 1000)
			continue;
		finding_add(&process->inspection->findings, FINDING_NOTE, "slack",
			    "prctl(PR_SET_TIMERSLACK, 1) in it, or start it by timershield run",
			    "Sleeps of its ordinary thread %s[%d] may end %.0f us late (timer slack); real-time threads have none.",
			    thread->name, thread->tid, (double)slack / 1000);
		return;
	}
}

/* Any group up to the root may have one. */
static void check_quota(const struct process *process)
{
	struct findings *findings = &process->inspection->findings;
	struct refusal refusal = { 0 };
	autofree char *mount = NULL;
	autofree char *group = cgroup_of(process->pid, &mount);

	for (; group && strlen(group) > strlen(mount); *strrchr(group, '/') = '\0') {
		autofree char *mend = format("echo max >%s/cpu.max", group);
		autofree char *quota = cgroup_read(group, "cpu.max");

		if (process->others && quota && strncmp(quota, "max", 3))
			finding_add(findings, FINDING_WARNING, "quota", mend,
				    "Its ordinary threads are stopped when their cgroup's quota is used up (%s/cpu.max).",
				    group);
	}
	if (process->first)
		check_throttling(process->inspection);
	else if (refusal_limit() >= 1 && refusal_find(&refusal, process->pid, 1))
		finding_add(findings, FINDING_BAD, "budget", refusal.mend,
			    "It cannot have a real-time thread: %s.", refusal.reason);
	refusal_free(&refusal);
}

int check_process(struct inspection *inspection, pid_t pid)
{
	struct process process = { .inspection = inspection, .pid = pid };
	unsigned long long before[2], after[2];
	int ret = tasks_read_threads(&process.threads, pid);

	if (!ret && process.threads.items[0].flags & TASK_KERNEL_THREAD)
		ret = failed(-EINVAL, "%d is a thread of the kernel", pid);
	if (!ret && !read_faults(pid, before))
		ret = -ESRCH;
	if (!ret) {
		check_threads(&process);
		check_memory(&process);
		check_places(&process);
		check_balance(&process);
		check_network(inspection, pid, process.first ? process.first->rt_priority : 0);
		check_quota(&process);
		check_locks(&process);
		if (read_faults(pid, after))
			check_faults(&process, before, after);
		check_timer_slack(&process);
	}
	tasks_free(&process.threads);
	return ret;
}
