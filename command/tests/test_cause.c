// SPDX-License-Identifier: GPL-2.0-or-later
/* What blame calls the threads of a virtual machine, and their timers; and devices of the network. */
#include "blame/cause.h"
#include "check.h"
#include "lib/text.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void *be_cpu(void *ready)
{
	pid_t tid = gettid();

	prctl(PR_SET_NAME, "CPU 0/KVM");
	check(write(*(int *)ready, &tid, sizeof(tid)) == sizeof(tid), "write");
	pause();
	return NULL;
}

/* What is executed in QEMU's place: it has a thread like that of a virtual CPU, and tells its number. */
static int emulate(void)
{
	int out = STDOUT_FILENO;
	pthread_t thread;

	prctl(PR_SET_NAME, "qemu-system-x86");
	pthread_create(&thread, NULL, be_cpu, &out);
	pthread_join(thread, NULL);
	return 0;
}

static pid_t start(const char *program, const char *name, struct who *cpu)
{
	int ends[2];
	pid_t pid;

	check(!pipe(ends), "pipe");
	pid = fork();
	if (!pid) {
		dup2(ends[1], STDOUT_FILENO);
		execl("/proc/self/exe", program, "-enable-kvm", "-name", name, "-S", NULL);
		_exit(1);
	}
	*cpu = (struct who){ .tgid = (u32)pid, .priority = 120 };
	check(read(ends[0], &cpu->tid, sizeof(cpu->tid)) == sizeof(cpu->tid), "read");
	close(ends[0]);
	close(ends[1]);
	return pid;
}

/* PROGRAM with "-name NAME" is called MACHINE. */
static void is_called(const char *program, const char *name, const char *machine)
{
	struct who cpu, leader;
	pid_t pid = start(program, name, &cpu);
	struct cause cause = { .kind = CAUSE_TIMER, .id = cpu.tid, .how = HOW_GUEST << HOW_SHIFT };
	autofree char *wanted = format("%s/CPU 0/KVM[%u]: timer of the guest", machine, cpu.tid);
	autofree char *process = format("%s[%d]", machine, pid);
	autofree char *timer = cause_text(&cause, &cpu), *called = NULL;

	leader = (struct who){ .tid = cpu.tgid, .tgid = cpu.tgid, .priority = 120 };
	called = who_text(&leader);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	check(!strcmp(timer, wanted), "%s", timer);
	check(!strcmp(called, process), "%s", called);
}

static void is_device(const char *device, u32 id, const char *wanted)
{
	struct cause cause = { .kind = CAUSE_SOFTIRQ, .id = NET_RX, .how = id };
	struct who who = { 0 };
	autofree char *name = NULL;

	memcpy(who.comm, device, strnlen(device, COMM_SIZE));
	name = cause_name(&cause, &who);
	check(!strcmp(name, wanted), "%s", name);
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return emulate();
	is_called("/usr/bin/qemu-system-x86_64", "guest=web 01,debug-threads=on", "VM web 01");
	is_called("/usr/bin/kvm", "db,debug-threads=on", "VM db");
	is_called("qemu-kvm", "debug-threads=on,guest=mail", "VM mail");
	is_called("/usr/bin/qemu-system-x86_64", "process=other", "qemu-system-x86");
	is_called("/usr/bin/other", "guest=web", "qemu-system-x86");
	is_device("", 0, "softirq NET_RX");
	is_device("eth0", 2, "softirq NET_RX: eth0");
	is_device("fifteen-letters", 3, "softirq NET_RX: fifteen-letters");
	is_device("\033[m", 4, "softirq NET_RX: ?[m");
	is_device("(no_device)", NO_DEVICE, "softirq NET_RX: backlog (lo, veth, RPS)");
	return 0;
}
