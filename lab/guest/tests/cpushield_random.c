// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random sequences of shields, affinities, forks and CPUs that come and go, each
 * followed by a look at every task's mask, which a model predicts. Three CPUs.
 *
 *	cpushield_random [--seed=N] [--sequences=N]
 *
 * The model has, for each task, what was asked for, and knows three rules:
 *
 *	- a task may run on what it asked for without the shielded CPUs, or on all
 *	  it asked for if none of the others is online;
 *	- one that runs and has no CPU left gets all, as on any kernel;
 *	- without privilege nobody gets a shielded CPU.
 */
#define _GNU_SOURCE
#include "lib/cpushield.h"
#include "file.h"
#include "lib/task.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CPUS 3
#define ALL ((CPU(0) | CPU(1) | CPU(2)))
#define TASKS 6			/* at most; the first is the one that does all this */
#define STEPS 12		/* of a sequence */
#define ORDINARY_USER 1000

struct model_task {
	pid_t pid;
	cpus_t asked;
	bool spins;
	unsigned int *at;	/* where a spinning one saw itself last, and how often */
};

static unsigned int seed = 1, sequences = 500;
static struct model_task tasks[TASKS];
static unsigned int count;
static cpus_t shield, online;
static unsigned int sequence, step;
static unsigned int done[8], refused[8];
static unsigned int random_state;

static unsigned int pick(unsigned int n)
{
	return rand_r(&random_state) / 7 % n;
}

static cpus_t pick_cpus(void)
{
	return 1 + pick(ALL);
}

/* What a task that asked for this has as its mask. */
static cpus_t mask_of(cpus_t asked)
{
	return asked & ~shield & online ? asked & ~shield : asked;
}

static void expect_ret(const char *what, cpus_t cpus, int ret, int expected, unsigned int kind)
{
	check(ret == expected, "sequence %u step %u: %s '%s': %s, not %s", sequence, step, what,
	      cpus_text(cpus), strerror(-ret), strerror(-expected));
	done[kind]++;
	refused[kind] += !!expected;
}

static void set_shield(void)
{
	cpus_t cpus = pick(8);
	int expected = 0;

	if (cpus & ~online)
		expected = -ENODEV;
	else if (cpus == online)
		expected = -EBUSY;
	expect_ret("shield", cpus, try_shield(PROCS, cpus), expected, 0);
	if (!expected)
		shield = cpus;
}

/* As the kernel decides: first the shield, then whether there is such a CPU. */
static int affinity_result(const struct model_task *task, cpus_t cpus, bool privileged)
{
	if (!(cpus & ~shield & online) && !privileged &&
	    cpus & shield & ~mask_of(task->asked))
		return -EPERM;
	return cpus & online ? 0 : -EINVAL;
}

static void ask(void)
{
	struct model_task *task = &tasks[pick(count)];
	cpus_t cpus = pick_cpus();
	int expected = affinity_result(task, cpus, true);

	expect_ret("affinity", cpus, try_affinity(task->pid, cpus), expected, 1);
	if (!expected)
		task->asked = cpus;
}

/* By a process of the user to whom all tasks but the first belong. */
static void ask_without_privilege(void)
{
	struct model_task *task = &tasks[pick(count)];
	cpus_t cpus = pick_cpus();
	int expected, status;
	pid_t pid;

	expected = task == tasks ? -EPERM : affinity_result(task, cpus, false);
	pid = fork();
	if (!pid) {
		become_unprivileged();
		_exit(-try_affinity(task->pid, cpus));
	}
	waitpid(pid, &status, 0);
	expect_ret("unprivileged affinity", cpus, -WEXITSTATUS(status), expected, 2);
	if (!expected)
		task->asked = cpus;
}

static void nothing(int signal)
{
}

static void run_task(struct model_task *task)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGUSR1, nothing);
	set_policy(0, OTHER);
	become_unprivileged();
	__atomic_store_n(&task->at[1], 1, __ATOMIC_RELEASE);
	while (task->spins) {
		__atomic_store_n(&task->at[0], sched_getcpu(), __ATOMIC_RELAXED);
		__atomic_fetch_add(&task->at[1], 1, __ATOMIC_RELEASE);
		let_other_cpus_run(now());
	}
	for (;;)
		pause();
}

static bool wait_for_change(const unsigned int *word, unsigned int value)
{
	u64 limit = now() + 30 * SEC;	/* the host may be busy */

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value) {
		if (now() > limit)
			return false;
		sleep_for(50 * USEC);
	}
	return true;
}

static void fork_task(void)
{
	struct model_task *task = &tasks[count];

	if (count == TASKS)
		return;
	task->asked = tasks[0].asked;
	task->spins = pick(6) == 0;
	task->at[1] = 0;
	task->pid = fork();
	require(task->pid >= 0, "fork: %s", strerror(errno));
	if (!task->pid)
		run_task(task);
	require(wait_for_change(&task->at[1], 0), "a task does not start");
	count++;
	done[3]++;
}

static void end_task(void)
{
	unsigned int *at;
	unsigned int n;

	if (count < 2)
		return;
	n = 1 + pick(count - 1);
	end_process(tasks[n].pid);
	at = tasks[n].at;
	tasks[n] = tasks[--count];
	tasks[count].at = at;
	done[4]++;
}

/* Every task runs, so that one without any CPU is seen by the scheduler. */
static void poke_all(void)
{
	for (unsigned int i = 1; i < count; i++) {
		kill(tasks[i].pid, SIGUSR1);
		if (!tasks[i].spins) {
			sleep_for(100 * USEC);
			await_sleep(tasks[i].pid);
		}
	}
}

static void plug(void)
{
	int cpu = 1 + pick(CPUS - 1);
	bool on = !(online & CPU(cpu));

	expect_ret(on ? "online" : "offline", CPU(cpu), cpu_set_online(cpu, on), 0, 5);
	online ^= CPU(cpu);
	poke_all();
	for (unsigned int i = 0; i < count; i++)
		if (!(tasks[i].asked & online))
			tasks[i].asked = ALL;
}

static void look(void)
{
	check(shielded(PROCS) == shield, "sequence %u step %u: the shield is '%s', not '%s'",
	      sequence, step, cpus_text(shielded(PROCS)), cpus_text(shield));
	for (unsigned int i = 0; i < count; i++) {
		const struct model_task *task = &tasks[i];
		cpus_t expected = mask_of(task->asked) & online, is = affinity(task->pid);

		check(is == expected,
		      "sequence %u step %u: task %u asked for '%s', online '%s', shield '%s': '%s'",
		      sequence, step, i, cpus_text(task->asked), cpus_text(online),
		      cpus_text(shield), cpus_text(is));
	}
}

/* Where the spinning tasks are now. */
static void look_at_spinners(void)
{
	for (unsigned int i = 1; i < count; i++) {
		const struct model_task *task = &tasks[i];
		cpus_t expected = mask_of(task->asked) & online;
		unsigned int cpu;

		if (!task->spins)
			continue;
		/* Twice: what it saw before the step may be yet to be written */
		for (int n = 0; n < 2; n++)
			check(wait_for_change(&task->at[1],
					      __atomic_load_n(&task->at[1], __ATOMIC_ACQUIRE)),
			      "sequence %u step %u: task %u does not run", sequence, step, i);
		cpu = __atomic_load_n(&task->at[0], __ATOMIC_RELAXED);
		check(expected & CPU(cpu), "sequence %u step %u: task %u runs on %u, not on '%s'",
		      sequence, step, i, cpu, cpus_text(expected));
	}
}

static void run_sequence(void)
{
	static void (*const actions[])(void) = {
		set_shield, set_shield, set_shield, set_shield, set_shield, set_shield,
		ask, ask, ask, ask, ask_without_privilege, ask_without_privilege,
		ask_without_privilege, ask_without_privilege, fork_task, fork_task,
		fork_task, fork_task, end_task, end_task, plug,
	};
	/* CPUs come and go in one of eight: that takes long */
	size_t kinds = ARRAY_SIZE(actions) - (sequence % 8 != 0);

	random_state = seed * 1000003 + sequence;
	for (step = 0; step < STEPS; step++) {
		actions[pick(kinds)]();
		look();
	}
	look_at_spinners();
}

static void reset(void)
{
	while (count > 1)
		end_process(tasks[--count].pid);
	for (int cpu = 1; cpu < CPUS; cpu++)
		if (!(online & CPU(cpu)))
			require(!cpu_set_online(cpu, true), "CPU %d does not come back", cpu);
	online = ALL;
	shield_cpus(PROCS, 0);
	shield = 0;
	expect_affinity(0, tasks[0].asked, "without a shield");
	set_affinity(0, ALL);
	tasks[0].asked = ALL;
}

static void masks_are_what_the_model_says(void)
{
	cpushield_prepare(CPUS);
	require(cpus_online() == ALL, "these tests are for exactly three CPUs");
	if (access("/sys/devices/system/cpu/cpu2/online", F_OK))
		skip("CPUs cannot go offline");
	set_policy(0, FIFO(50));
	for (unsigned int i = 0; i < TASKS; i++)
		tasks[i].at = shared_memory(2 * sizeof(unsigned int));
	tasks[0].pid = getpid();
	tasks[0].asked = ALL;
	online = ALL;
	count = 1;
	for (sequence = 0; sequence < sequences; sequence++) {
		run_sequence();
		reset();
	}
	note("%u sequences, seed %u: shield %u (%u refused), affinity %u (%u), unprivileged %u (%u)",
	     sequences, seed, done[0], refused[0], done[1], refused[1], done[2], refused[2]);
	note("fork %u, exit %u, hotplug %u", done[3], done[4], done[5]);
	for (unsigned int i = 0; i < 3; i++)
		check(sequences < 100 || (refused[i] && refused[i] < done[i]),
		      "operation %u is never refused, or always", i);
}

static int usage(const char *program)
{
	fprintf(stderr, "Usage: %s [--seed=N] [--sequences=N]\n", program);
	return 2;
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST(masks_are_what_the_model_says),
	};
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "sequences", required_argument, NULL, 'n' },
		{ }
	};
	int option, ret;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 's')
			seed = strtoul(optarg, NULL, 0);
		else if (option == 'n')
			sequences = strtoul(optarg, NULL, 0);
		else
			return usage(argv[0]);
	}
	set_test_timeout(600);
	ret = run_tests(argc - optind + 1, argv + optind - 1, tests, ARRAY_SIZE(tests),
			TESTS_KEEP_SWITCH);
	file_write(PROCS, "\n");
	return ret;
}
