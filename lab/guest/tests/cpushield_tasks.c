// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which CPUs a task may run on while some are shielded, and afterwards. Three
 * CPUs; in most tests CPU 1 is shielded.
 *
 * A stock kernel fails them all: it has no /proc/shield.
 */
#define _GNU_SOURCE
#include "lib/cpushield.h"
#include "file.h"
#include "lib/task.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALL (CPU(0) | CPU(1) | CPU(2))

static void prepare(void)
{
	cpushield_prepare(3);
	require(cpus_online() == ALL, "these tests are for exactly three CPUs");
}

static void stripped(void)
{
	pid_t before, after;

	prepare();
	before = start_waiter();
	shield_cpus(PROCS, CPU(1));
	after = start_waiter();
	expect_affinity(before, CPU(0) | CPU(2), "a task that was there before");
	expect_affinity(0, CPU(0) | CPU(2), "the task that set the shield");
	set_affinity(after, CPU(0) | CPU(1));
	expect_affinity(after, CPU(0), "after asking for 0 and 1");
	set_affinity(after, ALL);
	expect_affinity(after, CPU(0) | CPU(2), "after asking for all");
}

static void kept_when_nothing_remains(void)
{
	pid_t one, two;

	prepare();
	one = start_waiter();
	two = start_waiter();
	set_affinity(one, CPU(1));
	set_affinity(two, CPU(1) | CPU(2));
	shield_cpus(PROCS, CPU(1));
	expect_affinity(one, CPU(1), "asked for 1 alone");
	expect_affinity(two, CPU(2), "asked for 1 and 2");
	shield_cpus(PROCS, CPU(1) | CPU(2));
	expect_affinity(one, CPU(1), "asked for 1 alone");
	expect_affinity(two, CPU(1) | CPU(2), "asked for shielded CPUs alone");
	shield_cpus(PROCS, CPU(2));
	expect_affinity(two, CPU(1), "asked for 1 and 2");
}

/* Tasks that never asked for anything, that asked before and that asked meanwhile. */
static void remembered_and_restored(void)
{
	static const pid_t never[] = { 1, 2 };	/* init, kthreadd */
	pid_t before, meanwhile;
	cpus_t had[2];

	prepare();
	before = start_waiter();
	meanwhile = start_waiter();
	set_affinity(before, CPU(1) | CPU(2));
	for (int i = 0; i < 2; i++)
		had[i] = affinity(never[i]);
	shield_cpus(PROCS, CPU(1));
	for (int i = 0; i < 2; i++)
		expect_affinity(never[i], had[i] & ~CPU(1), "never asked");
	set_affinity(meanwhile, CPU(0) | CPU(1));
	shield_cpus(PROCS, CPU(2));
	expect_affinity(before, CPU(1), "asked for 1 and 2");
	expect_affinity(meanwhile, CPU(0) | CPU(1), "asked for 0 and 1");
	shield_cpus(PROCS, 0);
	for (int i = 0; i < 2; i++)
		expect_affinity(never[i], had[i], "never asked, no shield any more");
	expect_affinity(before, CPU(1) | CPU(2), "asked before, no shield any more");
	expect_affinity(meanwhile, CPU(0) | CPU(1), "asked meanwhile, no shield any more");
}

static void *thread_masks(void *argument)
{
	unsigned int *step = argument;

	expect_affinity(0, CPU(0) | CPU(2), "a new thread");
	__atomic_store_n(step, 1, __ATOMIC_RELEASE);
	wake_all(step);
	wait_while(step, 1, 0);
	expect_affinity(0, ALL, "the thread, no shield any more");
	return NULL;
}

static void inherited_by_fork_and_clone(void)
{
	static unsigned int step;
	pid_t child, shielded_child;
	pthread_t thread;

	prepare();
	shield_cpus(PROCS, CPU(1));
	child = start_waiter();
	require(!pthread_create(&thread, NULL, thread_masks, &step), "pthread_create");
	require(wait_while(&step, 0, now() + 5 * SEC), "the thread does not start");
	expect_affinity(child, CPU(0) | CPU(2), "a new process");
	set_affinity(0, CPU(1));
	shielded_child = start_waiter();
	expect_affinity(shielded_child, CPU(1), "child of a task that asked for 1 alone");
	shield_cpus(PROCS, 0);
	expect_affinity(child, ALL, "the process, no shield any more");
	__atomic_store_n(&step, 2, __ATOMIC_RELEASE);
	wake_all(&step);
	pthread_join(thread, NULL);
}

/* An unprivileged user keeps what was given, and takes nothing that is shielded. */
static void without_privilege(void)
{
	int status;
	pid_t pid;

	prepare();
	shield_cpus(PROCS, CPU(1));
	pid = fork();
	if (!pid) {
		become_unprivileged();
		check(try_affinity(0, CPU(1)) == -EPERM, "took the shielded CPU");
		expect_affinity(0, CPU(0) | CPU(2), "after a refused call");
		check(!try_affinity(0, CPU(0) | CPU(1)), "may not ask for 0 and 1");
		expect_affinity(0, CPU(0), "after asking for 0 and 1");
		check(try_affinity(0, CPU(1)) == -EPERM, "took the CPU it had asked for");
		expect_affinity(0, CPU(0), "after a refused call");
		check(try_affinity(getppid(), CPU(0)) == -EPERM, "changed root's task");
		_exit(0);
	}
	waitpid(pid, &status, 0);
	shield_cpus(PROCS, 0);
	set_affinity(0, CPU(1));
	shield_cpus(PROCS, CPU(1));
	pid = fork();
	if (!pid) {
		become_unprivileged();
		check(!try_affinity(0, CPU(1)), "may not keep what it has");
		expect_affinity(0, CPU(1), "after asking for what it has");
		check(!try_affinity(0, ALL), "may not leave the shielded CPU");
		expect_affinity(0, CPU(0) | CPU(2), "after leaving the shielded CPU");
		check(try_affinity(0, CPU(1)) == -EPERM, "came back to the shielded CPU");
		_exit(0);
	}
	waitpid(pid, &status, 0);
}

/* Whatever privileges one has in a user namespace of one's own. */
static void privilege_of_a_user_namespace(void)
{
	int status;
	pid_t pid;

	prepare();
	shield_cpus(PROCS, CPU(1));
	pid = fork();
	if (!pid) {
		become_unprivileged();
		if (syscall(SYS_unshare, 0x10000000 /* CLONE_NEWUSER */))
			skip("unshare: %s", strerror(errno));
		check(try_affinity(0, CPU(1)) == -EPERM, "took the shielded CPU");
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 4)
		_exit(4);
}

/* With the privilege one may take it for oneself and for others. */
static void with_privilege(void)
{
	pid_t pid;

	prepare();
	shield_cpus(PROCS, CPU(1));
	pid = start_waiter();
	set_affinity(pid, CPU(1));
	expect_affinity(pid, CPU(1), "given the shielded CPU");
	set_affinity(0, CPU(1));
	expect_affinity(0, CPU(1), "took the shielded CPU");
	check(sched_getcpu() == 1, "runs on CPU %d", sched_getcpu());
	shield_cpus(PROCS, 0);
	expect_affinity(pid, CPU(1), "no shield any more");
}

/* sched_getaffinity() and /proc/PID/status tell where a task may run now. */
static void answers(void)
{
	char text[4096], *line;

	prepare();
	shield_cpus(PROCS, CPU(1));
	expect_affinity(0, CPU(0) | CPU(2), "sched_getaffinity()");
	require(file_read("/proc/self/status", text, sizeof(text)) > 0, "/proc/self/status");
	line = strstr(text, "Cpus_allowed_list:\t");
	require(line, "no Cpus_allowed_list in /proc/self/status");
	check(!strncmp(line, "Cpus_allowed_list:\t0,2", 22), "%.30s", line);
}

/* At once, whatever their priority, and they come back. */
static void running_tasks_leave(void)
{
	struct spinner spinners[4];
	cpus_t seen = 0;
	u64 limit;

	prepare();
	for (int i = 0; i < 4; i++)
		spinners[i] = start_spinner();
	require(!set_policy(spinners[0].pid, FIFO(50)), "SCHED_FIFO");
	become(FIFO(90));
	sleep_for(100 * MSEC);
	for (int cpu = 1; cpu < 3; cpu++) {
		shield_cpus(PROCS, CPU(cpu));
		for (int i = 0; i < 4; i++) {
			seen = spinner_watch(&spinners[i], 20 * MSEC);
			check(!(seen & CPU(cpu)), "CPU %d shielded, task %d seen on '%s'", cpu,
			      i, cpus_text(seen));
		}
	}
	shield_cpus(PROCS, 0);
	limit = now() + 5 * SEC;
	for (seen = 0; seen != ALL && now() < limit;)
		for (int i = 0; i < 4; i++)
			seen |= spinner_watch(&spinners[i], 10 * MSEC);
	check(seen == ALL, "no shield any more, but tasks are seen on '%s' alone", cpus_text(seen));
}

static pid_t find_thread(const char *name)
{
	char path[64], comm[64];

	for (pid_t pid = 2; pid < 300; pid++) {
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		if (file_read(path, comm, sizeof(comm)) < 0)
			continue;
		comm[strcspn(comm, "\n")] = 0;
		if (!strcmp(comm, name))
			return pid;
	}
	fail("no kernel thread %s", name);
}

/* What the scheduler needs on every CPU stays, and the report says so. */
static void kernel_threads(void)
{
	static const char *const bound[] = { "migration/1", "ksoftirqd/1", "cpuhp/1" };
	const char *line;
	pid_t pid;

	prepare();
	shield_cpus(PROCS, CPU(1));
	for (unsigned int i = 0; i < ARRAY_SIZE(bound); i++) {
		pid = find_thread(bound[i]);
		expect_affinity(pid, CPU(1), bound[i]);
		line = report_line("task", pid);
		check(line && strstr(line, "\t1\t") && strstr(line, bound[i]) &&
		      strstr(line, "per-CPU kernel thread"), "%s in the report: %s", bound[i],
		      line ? line : "(nothing)");
	}
	pid = find_thread("kthreadd");
	check(!(affinity(pid) & CPU(1)), "kthreadd may run on '%s'", cpus_text(affinity(pid)));
	check(!report_line("task", pid), "kthreadd is in the report");
	check(!report_line("task", getpid()), "this task is in the report");
	set_affinity(0, CPU(1));
	line = report_line("task", getpid());
	check(line && strstr(line, "affinity set to shielded CPUs alone"),
	      "this task in the report: %s", line ? line : "(nothing)");
}

/* Admitted for all CPUs, it is left where it is until it leaves that class. */
static void deadline_tasks(void)
{
	static const struct policy deadline = DEADLINE(1 * MSEC, 100 * MSEC);
	const char *line;
	pid_t pid, other;

	prepare();
	require(!file_write("/proc/sys/kernel/sched_rt_runtime_us", "950000"), "sched_rt_runtime_us");
	pid = start_waiter();
	require(!set_policy(pid, deadline), "SCHED_DEADLINE");
	shield_cpus(PROCS, CPU(1));
	expect_affinity(pid, ALL, "a SCHED_DEADLINE task");
	line = report_line("task", pid);
	check(line && strstr(line, "SCHED_DEADLINE"), "in the report: %s", line ? line : "(nothing)");
	other = start_waiter();
	check(set_policy(other, deadline) == -EPERM, "a task without CPU 1 was admitted");
	require(!set_policy(pid, OTHER), "SCHED_OTHER");
	expect_affinity(pid, CPU(0) | CPU(2), "once it is an ordinary task");
	end_process(pid);
	shield_cpus(PROCS, 0);
	file_write("/proc/sys/kernel/sched_rt_runtime_us", "-1");
}

/* The shield changes while tasks are born: none escapes, none stays behind. */
static void forks_meanwhile(void)
{
	unsigned int *stop = shared_memory(sizeof(*stop));
	u64 limit;

	prepare();
	for (int i = 0; i < 6; i++) {
		if (fork())
			continue;
		while (!*stop) {
			pid_t pid = fork();

			if (!pid) {
				/* Not to be seen where it must not run once the shield stands */
				for (int n = 0; n < 3; n++)
					sched_yield();
				_exit(0);
			}
			waitpid(pid, NULL, 0);
		}
		_exit(0);
	}
	become(FIFO(90));
	limit = now() + 3 * SEC;
	for (unsigned int round = 0; now() < limit; round++) {
		char path[64];

		shield_cpus(PROCS, CPU(1 + round % 2));
		/* Every process of this test was there, or was born since */
		for (pid_t pid = getpid(); pid < getpid() + 4000; pid++) {
			cpus_t cpus = 0;

			snprintf(path, sizeof(path), "/proc/%d", pid);
			if (access(path, F_OK) || getpgid(pid) != getpid() ||
			    syscall(SYS_sched_getaffinity, pid, sizeof(cpus), &cpus) < 0)
				continue;
			check(!(cpus & CPU(1 + round % 2)), "round %u: process %d may run on '%s'",
			      round, pid, cpus_text(cpus));
		}
		sleep_for(500 * USEC);
	}
	*stop = 1;
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST(stripped),
		TEST(kept_when_nothing_remains),
		TEST(remembered_and_restored),
		TEST(inherited_by_fork_and_clone),
		TEST(without_privilege),
		TEST(privilege_of_a_user_namespace),
		TEST(with_privilege),
		TEST(answers),
		TEST(running_tasks_leave),
		TEST(kernel_threads),
		TEST(deadline_tasks),
		TEST(forks_meanwhile),
	};
	int ret = run_tests(argc, argv, tests, ARRAY_SIZE(tests), TESTS_KEEP_SWITCH);

	file_write(PROCS, "\n");
	return ret;
}
