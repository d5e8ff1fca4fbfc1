// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The load: stress-ng, whose stressors stand for TTCP, FIFOS_MMAP, P3_FPU, FS and CRASHME of the
 * article's stress-kernel. The processes are SCHED_OTHER and may run on
 * every CPU.
 */
#define _GNU_SOURCE
#include "clock.h"
#include "load.h"
#include "pause.h"
#include "tasks.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PACE_NS (20 * NSEC_PER_USEC)
#define GIVE_WAY_NICE (-12)

static pid_t pacer, giver, stress;

/*
 * Virtual CPUs take turns. A turn ends when the machine's next timer is due, and then
 * the first CPU, the measured one, has the next turn; or when the CPU halts, pauses or
 * sets a timer that is the machine's next, and then the other has it. This sets timers,
 * for the CPU with all the load; the lab's guest has one besides that is always set,
 * else a section with interrupts disabled here would keep the measured CPU from its turn.
 */
static void pace(enum load load)
{
	prctl(PR_SET_TIMERSLACK, 1);
	if (task_pin(LOAD_CPU) || task_fifo(0, 99))
		return;
	for (;;)
		sleep_until(clock_ns() + PACE_NS);
}

/*
 * As long as the measured CPU is always busy, so that the other has turns too. While
 * all this starts it weighs as much as the load; see load_give_less_way().
 */
static void give_way(enum load load)
{
	if (task_pin(MEASURED_CPU) || setpriority(PRIO_PROCESS, 0, GIVE_WAY_NICE))
		return;
	for (;;)
		pause_cpu();
}

/*
 * The article's CRASHME executes random bytes. In a machine that is emulated these find the
 * emulator's faults and not the kernel's, so here the ways to fail are chosen.
 */
static void execute(enum load load)
{
	static char *const words[][20] = {
		[LOAD_SPIN] = { "stress-ng", "-q", "--cpu", "4" },
		[LOAD_KERNEL] = {
			"stress-ng", "-q", "--temp-path=/tmp", "--sock=2", "--fifo=1", "--mmap=1",
			"--mmap-bytes=8m", "--mmap-file", "--fp=1", "--hdd=2", "--hdd-bytes=8m",
			"--fault=1", "--sigsegv=1" },
	};

	execv("/bin/stress-ng", words[load]);
	fprintf(stderr, "isolated_cpu: stress-ng: %m\n");
}

/* In a group of its own. The process's id or -errno. */
static pid_t start(void (*function)(enum load load), enum load load)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid) {
		setpgid(pid, pid);
		return pid;
	}
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	function(load);
	_exit(1);
}

static void stop(pid_t *pid)
{
	if (*pid <= 0)
		return;
	kill(-*pid, SIGKILL);
	waitpid(*pid, NULL, 0);
	*pid = 0;
}

void load_give_less_way(void)
{
	if (giver > 0)
		setpriority(PRIO_PROCESS, giver, 19);
}

void load_give_no_way(void)
{
	stop(&giver);
}

void load_stop(void)
{
	stop(&stress);
	stop(&giver);
	stop(&pacer);
}

int load_start(enum load load)
{
	pacer = start(pace, load);
	/* An idle CPU has no use for turns, and they are slow to give */
	if (load != LOAD_NONE) {
		giver = start(give_way, load);
		stress = start(execute, load);
	}
	if (pacer >= 0 && giver >= 0 && stress >= 0)
		return 0;
	fprintf(stderr, "isolated_cpu: the load cannot be started\n");
	load_stop();
	return -EAGAIN;
}
