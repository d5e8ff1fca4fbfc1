// SPDX-License-Identifier: GPL-2.0-or-later
#include "loads.h"

#include <errno.h>
#include <grp.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 65534

void *shared_alloc(size_t size)
{
	void *memory = mmap(NULL, size ? size : 1, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* splitmix64: small, and the same everywhere for the same seed */
uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

int64_t releases_due(const struct load_task *task, int64_t since_zero)
{
	if (since_zero < task->phase)
		return 0;
	return (since_zero - task->phase) / task->period + 1;
}

static int become_nobody(void)
{
	if (geteuid() != 0)
		return 0;
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL)) {	/* the kernel forgets it with the identity */
		fprintf(stderr, "%s: cannot give up privileges: %m\n", program_invocation_short_name);
		return -errno;
	}
	return 0;
}

int loop_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

int task_become(const struct load_task *task)
{
	struct sched_param param = { .sched_priority = task->priority };

	if (sched_setscheduler(0, task->policy, &param)) {
		fprintf(stderr, "%s: scheduling policy %d, priority %d: %m%s\n",
			program_invocation_short_name, task->policy, task->priority,
			errno == EPERM ? "; run it as root, or raise 'ulimit -r'" : "");
		return -errno;
	}
	return task->unprivileged ? become_nobody() : 0;
}

void task_ready_and_wait(struct loads *loads, int tasks)
{
	struct shared *shared = loads->shared;

	atomic_fetch_add(&shared->ready, tasks);
	while (!atomic_load(&shared->go))
		syscall(SYS_futex, &shared->go, FUTEX_WAIT, 0, NULL, NULL, 0);
}
