// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The article's load: TTCP, FIFOS_MMAP, P3_FPU, FS and CRASHME of stress-kernel, as
 * processes of our own; and one that fills soft interrupts, where today's kernels are slow.
 * All are SCHED_OTHER and may run on every CPU.
 */
#define _GNU_SOURCE
#include "isolated.h"
#include "clock.h"
#include "file.h"
#include "pause.h"
#include "tasks.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK (64 << 10)
#define FILE_SIZE (8 << 20)
#define PACE_NS (20 * NSEC_PER_USEC)
#define GIVE_WAY_NICE (-12)
#define STEERING "/sys/class/net/lo/queues/rx-0/rps_cpus"

static pid_t group, giver;

/* The process's id or -errno. */
static pid_t start(void (*function)(void), const char *name)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid) {
		if (!group)
			group = pid;
		setpgid(pid, group);
		return pid;
	}
	setpgid(0, group);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	signal(SIGPIPE, SIG_IGN);
	function();
	_exit(0);
}

/*
 * Virtual CPUs take turns. A turn ends when the machine's next timer is due, and then
 * the first CPU, the measured one, has the next turn; or when the CPU halts, pauses or
 * sets a timer that is the machine's next, and then the other has it. This sets timers,
 * for the CPU with all the load; the lab's guest has one besides that is always set,
 * else a section with interrupts disabled here would keep the measured CPU from its turn.
 */
static void pace(void)
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
static void give_way(void)
{
	if (task_pin(MEASURED_CPU) || setpriority(PRIO_PROCESS, 0, GIVE_WAY_NICE))
		return;
	for (;;)
		pause_cpu();
}

static void spin(void)
{
	for (;;)
		__asm__ volatile("" ::: "memory");
}

static void send_all(int fd)
{
	static char block[BLOCK];

	while (write(fd, block, sizeof(block)) > 0)
		;
}

static void receive_all(int fd)
{
	static char block[BLOCK];

	while (read(fd, block, sizeof(block)) > 0)
		;
}

/* One connection over loopback, large data sets both ways. */
static void tcp(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int ends[2];

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (void *)&address, sizeof(address)) || listen(listener, 1) ||
	    getsockname(listener, (void *)&address, &length))
		return;
	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(ends[0], (void *)&address, sizeof(address)))
		return;
	ends[1] = accept(listener, NULL, NULL);
	for (int i = 0; i < 2; i++) {
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			receive_all(ends[i]);
		}
	}
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		send_all(ends[1]);
	}
	send_all(ends[0]);
}

/* Datagrams of one byte: a packet each for the kernel. */
static void datagrams(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (void *)&address, sizeof(address)) ||
	    getsockname(fd, (void *)&address, &length) ||
	    connect(fd, (void *)&address, sizeof(address)))
		return;
	for (;;) {
		char byte = 0;

		for (int i = 0; i < 64; i++)
			send(fd, &byte, 1, MSG_DONTWAIT);
		while (recv(fd, &byte, 1, MSG_DONTWAIT) > 0)
			;
	}
}

/* RCU frees what files leave behind. */
static void inodes(void)
{
	char name[32];

	for (unsigned int i = 0;; i++) {
		int fd;

		snprintf(name, sizeof(name), "/tmp/inode-%d-%u", getpid(), i % 64);
		fd = open(name, O_WRONLY | O_CREAT, 0600);
		if (fd >= 0)
			close(fd);
		unlink(name);
	}
}

static void touch_mapped_file(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT, 0600);
	char *data;

	if (fd < 0 || ftruncate(fd, FILE_SIZE))
		return;
	data = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (data != MAP_FAILED) {
		for (size_t at = 0; at < FILE_SIZE; at += 4096)
			data[at]++;
		msync(data, FILE_SIZE, MS_SYNC);
		munmap(data, FILE_SIZE);
	}
	ftruncate(fd, 0);
	close(fd);
}

/* Data between two processes through a FIFO, then operations on a mapped file. */
static void fifos_mmap(void)
{
	char fifo[32], file[32];
	static char block[4096];
	pid_t child;
	int fd;

	snprintf(fifo, sizeof(fifo), "/tmp/fifo-%d", getpid());
	snprintf(file, sizeof(file), "/tmp/mapped-%d", getpid());
	if (mkfifo(fifo, 0600))
		return;
	child = fork();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = open(fifo, child ? O_WRONLY : O_RDONLY);
	for (;;) {
		for (int i = 0; i < 256; i++)
			if ((child ? write(fd, block, sizeof(block)) :
				     read(fd, block, sizeof(block))) < 0)
				return;
		if (child)
			touch_mapped_file(file);
	}
}

static void fpu(void)
{
	static volatile double matrices[3][32][32];

	for (;;)
		for (int i = 0; i < 32; i++)
			for (int j = 0; j < 32; j++)
				for (int k = 0; k < 32; k++)
					matrices[0][i][j] += matrices[1][i][k] *
							     matrices[2][k][j] + i;
}

/* Files with holes, truncated and extended; names made, moved and removed. */
static void fs(void)
{
	static char block[BLOCK];
	char name[48], other[48], directory[32];

	snprintf(directory, sizeof(directory), "/tmp/fs-%d", getpid());
	mkdir(directory, 0700);
	for (unsigned int round = 0;; round++) {
		int fd;

		snprintf(name, sizeof(name), "%s/%u", directory, round % 16);
		snprintf(other, sizeof(other), "%s/moved-%u", directory, round % 5);
		fd = open(name, O_RDWR | O_CREAT, 0600);
		if (fd < 0)
			continue;
		for (int i = 0; i < 16; i++)
			pwrite(fd, block, sizeof(block), (off_t)i * 3 * BLOCK);
		ftruncate(fd, FILE_SIZE / 2);
		ftruncate(fd, 5 * BLOCK + 1);
		ftruncate(fd, FILE_SIZE);
		fsync(fd);
		close(fd);
		rename(name, other);
		if (round % 3 == 0)
			unlink(other);
	}
}

static unsigned int overflow_stack(volatile char *above);
static unsigned int (*volatile deeper)(volatile char *) = overflow_stack;

static unsigned int overflow_stack(volatile char *above)
{
	volatile char frame[4096];

	frame[0] = above[0];
	return deeper(frame) + frame[0];
}

/* One of the ways in which garbage that is executed ends. */
static void fault(unsigned int kind)
{
	void *readable = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = memfd_create("empty", MFD_CLOEXEC);
	volatile char *empty = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	volatile char none = 0;

	switch (kind % 6) {
	case 0:
		__builtin_trap();
	case 1:
		*(volatile char *)readable = 1;
		break;
	case 2:
		((void (*)(void))readable)();
		break;
	case 3:
		((void (*)(void))(uintptr_t)0x1000)();
		break;
	case 4:
		none = *empty;
		break;
	default:
		none = overflow_stack(&none);
		break;
	}
}

/*
 * The article's CRASHME executes random bytes. In a machine that is emulated these find
 * the emulator's faults and not the kernel's, so here the ways to fail are chosen.
 */
static void crashme(void)
{
	static const struct rlimit no_core;

	setrlimit(RLIMIT_CORE, &no_core);
	for (unsigned int kind = 0;; kind++) {
		pid_t pid = fork();

		if (!pid) {
			fault(kind);
			_exit(0);
		}
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
}

void load_give_less_way(void)
{
	if (giver > 0)
		setpriority(PRIO_PROCESS, giver, 19);
}

void load_give_no_way(void)
{
	if (giver <= 0)
		return;
	kill(giver, SIGKILL);
	waitpid(giver, NULL, 0);
}

void load_stop(void)
{
	kill(-group, SIGKILL);
	while (waitpid(-group, NULL, 0) > 0)
		;
}

int load_start(enum load load)
{
	static const struct {
		enum load load;
		void (*function)(void);
		const char *name;
	} parts[] = {
		{ LOAD_SPIN, spin, "spin" }, { LOAD_SPIN, spin, "spin" },
		{ LOAD_SPIN, spin, "spin" }, { LOAD_SPIN, spin, "spin" },
		{ LOAD_KERNEL, tcp, "ttcp" }, { LOAD_KERNEL, tcp, "ttcp" },
		{ LOAD_KERNEL, fifos_mmap, "fifos_mmap" }, { LOAD_KERNEL, fpu, "p3_fpu" },
		{ LOAD_KERNEL, fs, "fs" }, { LOAD_KERNEL, fs, "fs" },
		{ LOAD_KERNEL, crashme, "crashme" },
		{ LOAD_SOFTIRQS, datagrams, "datagrams" }, { LOAD_SOFTIRQS, datagrams, "datagrams" },
		{ LOAD_SOFTIRQS, datagrams, "datagrams" },
		{ LOAD_SOFTIRQS, inodes, "inodes" }, { LOAD_SOFTIRQS, inodes, "inodes" },
	};
	pid_t ret;

	/* To both CPUs; there is no such file if the kernel cannot steer. */
	if (load == LOAD_SOFTIRQS && file_write(STEERING, "3")) {
		fputs("isolated_cpu: this kernel has no " STEERING "\n", stderr);
		return -ENOENT;
	}
	ret = start(pace, "pace");

	/* An idle CPU has no use for turns, and they are slow to give */
	if (ret >= 0 && load != LOAD_NONE) {
		ret = start(give_way, "give_way");
		giver = ret;
	}
	for (unsigned int i = 0; ret >= 0 && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].load == load)
			ret = start(parts[i].function, parts[i].name);
	if (ret >= 0)
		return 0;
	fprintf(stderr, "isolated_cpu: starting the load: %s\n", strerror(-ret));
	return ret;
}
