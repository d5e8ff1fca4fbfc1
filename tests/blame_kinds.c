// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * blame and whatever is not a task's timer: interrupts, soft interrupts, work, kernel threads,
 * IPIs, against what the kernel and the culprits count. And owners that are hard to name.
 */
#define _GNU_SOURCE
#include "file.h"
#include "lib/blame.h"
#include "lib/network.h"
#include "lib/timers.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define WRITES 100
#define BARRIERS 500
#define TIMERS 20
#define SAMPLES 20
#define UNIT "load-unit"
#define STEERING "/sys/class/net/lo/queues/rx-0/rps_cpus"

static const char * const softirqs[] = {
	"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU",
};

/* What the kernel counts for CPU 0. */
enum { SERIAL, FUNCTION_CALLS, RESCHEDULES, RCU_SWITCHES, STEERED, SOFTIRQS };

/* The first number behind WORD in a line of FILE that has it. */
static u64 number_in(const char *file, const char *word)
{
	static char text[1 << 16];
	char *at;

	if (file_read(file, text, sizeof(text)) < 0)
		return 0;
	at = strstr(text, word);
	return at ? strtoull(at + strlen(word), NULL, 10) : 0;
}

/* The interrupt whose line ends in "ttyS0": its count on CPU 0. */
static u64 serial_interrupts(void)
{
	static char text[1 << 16];
	char *at;

	if (file_read("/proc/interrupts", text, sizeof(text)) < 0)
		return 0;
	at = strstr(text, "ttyS0");
	while (at && at > text && at[-1] != '\n')
		at--;
	at = at ? strchr(at, ':') : NULL;
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

/* How often another CPU asked CPU 0 to poll its backlog: the tenth number of the first line. */
static u64 steered_polls(void)
{
	char text[1024] = "";
	unsigned int polls = 0;

	file_read("/proc/net/softnet_stat", text, sizeof(text));
	sscanf(text, "%*x %*x %*x %*x %*x %*x %*x %*x %*x %x", &polls);
	return polls;
}

static pid_t rcu_thread(void)
{
	pid_t pid = thread_called("rcu_preempt");

	return pid ? pid : thread_called("rcu_sched");
}

static void count(u64 *counters)
{
	char path[64], word[16];

	snprintf(path, sizeof(path), "/proc/%d/status", rcu_thread());
	counters[SERIAL] = serial_interrupts();
	counters[FUNCTION_CALLS] = number_in("/proc/interrupts", "CAL:");
	counters[RESCHEDULES] = number_in("/proc/interrupts", "RES:");
	counters[RCU_SWITCHES] = number_in(path, "\nvoluntary_ctxt_switches:") +
				 number_in(path, "nonvoluntary_ctxt_switches:");
	counters[STEERED] = steered_polls();
	for (unsigned int i = 0; i < ARRAY_SIZE(softirqs); i++) {
		snprintf(word, sizeof(word), "%s:", softirqs[i]);
		counters[SOFTIRQS + i] = number_in("/proc/softirqs", word);
	}
}

/* Each character makes the serial port interrupt: it can take the next one. */
static void write_serial(unsigned int load)
{
	int fd = open("/dev/ttyS0", O_WRONLY | O_NOCTTY | O_CLOEXEC);

	set_policy(0, FIFO(80));
	blame_ready();
	for (unsigned int i = 0; fd >= 0 && i < WRITES; i++) {
		sleep_until(blame_expiry(i, WRITES));
		truth->loads[load].count += write(fd, "\n", 1) == 1;
	}
	blame_await_end();
}

/* A worker of the kernel takes each character to the other end. */
static void write_terminal(unsigned int load)
{
	int master, slave = -1;
	struct termios raw;

	mkdir("/dev/pts", 0755);
	mount("devpts", "/dev/pts", "devpts", 0, NULL);
	master = posix_openpt(O_RDWR | O_NOCTTY);
	if (master >= 0 && !grantpt(master) && !unlockpt(master))
		slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	if (slave >= 0 && !tcgetattr(slave, &raw)) {
		cfmakeraw(&raw);
		tcsetattr(slave, TCSANOW, &raw);
	}
	set_policy(0, FIFO(80));
	blame_ready();
	for (unsigned int i = 0; slave >= 0 && i < WRITES; i++) {
		sleep_until(blame_expiry(i, WRITES) + 3 * MSEC);
		truth->loads[load].count += write(master, "x", 1) == 1;
	}
	blame_await_end();
}

static void receive_frames(unsigned int load)
{
	static const char frame[64] = "\xff\xff\xff\xff\xff\xff\2\0\0\0\0\0\x88\xb5";
	int fd = network_open_polled();

	set_policy(0, FIFO(80));
	blame_ready();
	for (unsigned int i = 0; fd >= 0 && i < WRITES; i++) {
		sleep_until(blame_expiry(i, WRITES));
		truth->loads[load].count += write(fd, frame, sizeof(frame)) == sizeof(frame);
	}
	blame_await_end();
}

/* The loopback device has no poll of its own: packets wait in the CPU's queue. */
static void send_packets(unsigned int load, unsigned int packets)
{
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t length = sizeof(own);

	network_set_up("lo");
	bind(fd, (struct sockaddr *)&own, length);
	getsockname(fd, (struct sockaddr *)&own, &length);
	set_policy(0, FIFO(80));
	blame_ready();
	for (unsigned int i = 0; i < packets; i++) {
		sleep_until(blame_expiry(i, packets) + 3 * MSEC);
		truth->loads[load].count +=
			sendto(fd, "", 1, 0, (struct sockaddr *)&own, length) == 1;
	}
	blame_await_end();
}

static void send_to_itself(unsigned int load)
{
	send_packets(load, WRITES);
}

/* Another CPU sends, CPU 0 is to receive. */
static void send_steered(unsigned int load)
{
	file_write(STEERING, "1");
	if (online_cpus() > 1)
		pin(1);
	send_packets(load, BARRIERS);
}

/* From another CPU; each interrupts every CPU that runs a registered process. */
static void send_barriers(unsigned int load)
{
	if (online_cpus() > 1)
		pin(1);
	blame_ready();
	for (unsigned int i = 0; i < BARRIERS; i++) {
		sleep_until(blame_expiry(i, BARRIERS));
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
		truth->loads[load].count++;
	}
	blame_await_end();
}

static void *read_for_ever(void *fd)
{
	u64 expired;

	pin(0);
	set_policy(0, FIFO(80));
	while (read((int)(uintptr_t)fd, &expired, sizeof(expired)) == sizeof(expired))
		;
	return NULL;
}

/* While another CPU sends these, its timer interrupts send IPIs, too, to wake a thread of CPU 0. */
static void send_and_wake(unsigned int load)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	pthread_t thread;

	pin(1);
	pthread_create(&thread, NULL, read_for_ever, (void *)(uintptr_t)fd);
	blame_ready();
	sleep_until(truth->first);
	while (!atomic_load(&truth->done)) {
		timerfd_arm(fd, now() + (20 + truth->loads[load].count % 50) * USEC, 0);
		for (unsigned int i = 0; i < 10; i++)
			syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
		truth->loads[load].count++;
	}
}

/* The victim inherits it. */
static void register_for_barriers(u64 *counters)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
	count(counters);
}

static void arm(int *fds, unsigned int load)
{
	for (unsigned int i = 0; i < TIMERS; i++) {
		fds[i] = timerfd_create(CLOCK_MONOTONIC, 0);
		timerfd_arm(fds[i], blame_expiry(i, TIMERS) + 97 * USEC * load, 0);
	}
}

/* How many of them have expired. */
static void take(const int *fds, unsigned int load)
{
	blame_await_end();
	for (unsigned int i = 0; i < TIMERS; i++)
		truth->loads[load].count += poll(&(struct pollfd){ fds[i], POLLIN, 0 }, 1, 0) == 1;
}

/* Another process keeps the files open. */
static void arm_and_exit(unsigned int load)
{
	int fds[TIMERS];

	arm(fds, load);
	if (!fork()) {
		blame_ready();
		take(fds, load);
	}
}

static void *read_one(void *fd)
{
	u64 expired;

	blame_ready();
	return (void *)(uintptr_t)(read((int)(uintptr_t)fd, &expired, sizeof(expired)) ==
				   sizeof(expired));
}

/* Threads of another process wait for them. */
static void arm_and_pass(unsigned int load)
{
	pthread_t threads[TIMERS];
	int fds[TIMERS];
	void *expired;

	arm(fds, load);
	if (fork()) {
		for (unsigned int i = 0; i < TIMERS; i++)
			close(fds[i]);
		wait(NULL);
		return;
	}
	prctl(PR_SET_NAME, "receiver");
	for (unsigned int i = 0; i < TIMERS; i++)
		pthread_create(&threads[i], NULL, read_one, (void *)(uintptr_t)fds[i]);
	for (unsigned int i = 0; i < TIMERS; i++) {
		pthread_join(threads[i], &expired);
		truth->loads[load].count += expired != NULL;
	}
	_exit(0);
}

/* What it executes finds the files open, and its name is another one. */
static void arm_and_execute(unsigned int load)
{
	char text[1 + 12 * TIMERS] = "", number[16];
	int fds[TIMERS];

	arm(fds, load);
	for (unsigned int i = 0; i < TIMERS; i++) {
		snprintf(number, sizeof(number), "%d,", fds[i]);
		strcat(text, number);
	}
	snprintf(number, sizeof(number), "%u", load);
	execl("/proc/self/exe", "executed", "--executed", number, text, NULL);
}

static void executed(unsigned int load, const char *text)
{
	int fds[TIMERS];
	char *end = (char *)text;

	for (unsigned int i = 0; i < TIMERS; i++)
		fds[i] = (int)strtol(end, &end, 10), end++;
	blame_map();
	blame_ready();
	take(fds, load);
}

static void arm_and_rename(unsigned int load)
{
	int fds[TIMERS];

	arm(fds, load);
	prctl(PR_SET_NAME, "renamed");
	blame_ready();
	take(fds, load);
}

static void arm_in_namespace(unsigned int load)
{
	int fds[TIMERS];
	pid_t pid;

	unshare(CLONE_NEWPID);
	pid = fork();
	if (!pid) {
		arm(fds, load);
		blame_ready();
		take(fds, load);
		_exit(0);
	}
	truth->loads[load].pid = pid;
	wait(NULL);
}

static void arm_in_group(unsigned int load)
{
	char pid[16];
	int fds[TIMERS];

	snprintf(pid, sizeof(pid), "%d", getpid());
	mkdir("/sys/fs/cgroup/" UNIT, 0755);
	file_write("/sys/fs/cgroup/" UNIT "/cgroup.procs", pid);
	unshare(CLONE_NEWCGROUP);
	arm(fds, load);
	blame_ready();
	take(fds, load);
}

/* Half of them are waited for. */
static void arm_before_blame(void)
{
	int waited_for[TIMERS], alone[TIMERS];
	pthread_t thread;

	prctl(PR_SET_NAME, "before");
	pin(0);
	arm(waited_for, 0);
	arm(alone, 1);
	for (unsigned int i = 0; i < TIMERS; i++)
		pthread_create(&thread, NULL, read_one, (void *)(uintptr_t)waited_for[i]);
	blame_await_end();
}

/* Of whatever CPU 0 runs. */
static void take_samples(unsigned int load)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attributes),
		.config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = BLAME_SPIN / SAMPLES,
	};

	truth->loads[load].count = syscall(SYS_perf_event_open, &attributes, -1, 0, -1, 0) >= 0;
	blame_ready();
	blame_await_end();
}

enum { TERMINAL = 1, LOCAL = 1 };
enum { GONE, PASSED, EXECUTED, RENAMED, PID_NAMESPACE, GROUP };

static const struct blame_scenario scenarios[] = {
	{
		.name = "kinds", .victim = NICE(10), .count = count,
		.loads = { { "serial", write_serial, 1 }, { "terminal", write_terminal, 1 } },
	}, {
		.name = "network", .victim = NICE(10), .count = count,
		.loads = { { "polled", receive_frames, 1 }, { "local", send_to_itself, 1 } },
	}, {
		.name = "steered", .victim = NICE(10), .count = count, .until = BARRIERS,
		.loads = { { "steered", send_steered, 1 } },
	}, {
		.name = "ipis", .victim = FIFO(50), .count = register_for_barriers,
		.until = BARRIERS,
		.loads = { { "barrier", send_barriers, 1 } },
	}, {
		.name = "nested", .victim = FIFO(50), .count = register_for_barriers,
		.until = 2 * BARRIERS,
		.loads = { { "sender", send_and_wake, 1 } },
	}, {
		.name = "owners", .victim = FIFO(50), .linger = 1500,
		.loads = {
			[GONE] = { "gone", arm_and_exit, 1 },
			[PASSED] = { "passed", arm_and_pass, TIMERS },
			[EXECUTED] = { "executed", arm_and_execute, 1 },
			[RENAMED] = { "rename", arm_and_rename, 1 },
			[PID_NAMESPACE] = { "pidns", arm_in_namespace, 1 },
			[GROUP] = { "group", arm_in_group, 1 },
		},
	}, {
		.name = "samples", .victim = FIFO(50), .loads = { { "sampler", take_samples, 1 } },
	}, {
		.name = "before", .victim = FIFO(50),
	},
	{ 0 },
};

static double count_of(const char *victim, struct blame_wanted wanted)
{
	return blame_sum(victim, wanted, "count");
}

TEST(names_kinds)
{
	const char *victim = blame_run("kinds");

	for (unsigned int i = 0; i < ARRAY_SIZE(softirqs); i++) {
		char name[32];

		/* these have a row for each timer */
		if (!strcmp(softirqs[i], "TIMER") || !strcmp(softirqs[i], "HRTIMER"))
			continue;
		snprintf(name, sizeof(name), "softirq %s", softirqs[i]);
		blame_check(name, count_of(victim, (struct blame_wanted){
			.kind = "softirq", .name = name }), truth->counters[SOFTIRQS + i], 3);
	}
	require(truth->loads[0].count == WRITES, "the serial port: %u bytes written",
		truth->loads[0].count);
	blame_check("interrupts of the serial port", count_of(victim, (struct blame_wanted){
		.kind = "interrupt" }), truth->counters[SERIAL], 3);
	blame_check("switches to RCU's thread", count_of(victim, (struct blame_wanted){
		.kind = "task", .thread = rcu_thread() }), truth->counters[RCU_SWITCHES], 3);
	if (truth->loads[TERMINAL].count)
		blame_check("work flush_to_ldisc", count_of(victim, (struct blame_wanted){
			.kind = "work", .function = "flush_to_ldisc", .masked = "no" }),
			truth->loads[TERMINAL].count, 1);
	else
		note("no pseudo-terminals in this kernel: no work of a known function");
}

TEST(names_devices)
{
	const char *victim = blame_run("network");
	double polled = count_of(victim, (struct blame_wanted){
		.kind = "softirq", .name = "softirq NET_RX: polled0" });
	double local = count_of(victim, (struct blame_wanted){
		.kind = "softirq", .name = "softirq NET_RX: backlog (lo, veth, RPS)" });

	require(truth->loads[LOCAL].count == WRITES, "%u packets sent", truth->loads[LOCAL].count);
	blame_check("packets to itself", local, WRITES, 1);
	if (truth->loads[0].count)
		blame_check("frames of a device", polled, truth->loads[0].count, 1);
	else
		note("this kernel has no TUN driver: no device that is polled");
	blame_check("softirq NET_RX", polled + local + count_of(victim, (struct blame_wanted){
		.kind = "softirq", .name = "softirq NET_RX" }), truth->counters[SOFTIRQS + 3], 1);
}

TEST(names_owners)
{
	/* those of a kernel thread that the victim outranks, on PREEMPT_RT */
	const char *victim;
	bool soft = kernel_is_rt();
	static const char * const cases[] = {
		[GONE] = "exited", [EXECUTED] = "executed another program", [RENAMED] = "renamed",
		[PID_NAMESPACE] = "in a PID namespace", [GROUP] = "in a cgroup namespace",
	};

	victim = blame_run("owners");
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		struct blame_wanted wanted = {
			.kind = "timer", .how = "timerfd", .masked = "yes",
			.thread = truth->loads[i].pid,
		};

		if (i == GROUP)
			wanted.unit = UNIT;
		if (i == PASSED)
			continue;
		check(truth->loads[i].count == TIMERS, "%s: %u timers expired", cases[i],
		      truth->loads[i].count);
		blame_check(cases[i], count_of(victim, wanted), soft ? 0 : TIMERS, 0);
	}
	check(truth->loads[PASSED].count == TIMERS, "passed: %u read", truth->loads[PASSED].count);
	blame_check("passed to another process", count_of(victim, (struct blame_wanted){
		.kind = "timer", .how = "timerfd", .comm = "receiver" }), soft ? 0 : TIMERS, 0);
}

TEST(names_armed_before)
{
	double expired = kernel_is_rt() ? 0 : TIMERS;
	const char *victim;

	blame_prepare(TIMERS, arm_before_blame);
	victim = blame_run("before");
	blame_check("waited for", count_of(victim, (struct blame_wanted){
		.kind = "timer", .how = "timerfd", .comm = "before" }), expired, 0);
	blame_check("not waited for", count_of(victim, (struct blame_wanted){
		.kind = "timer", .how = "timerfd", .name = "unknown owner", .masked = "?" }),
		expired, 0);
}

TEST(names_ipis)
{
	double reschedules;
	const char *victim;
	char name[64];

	if (online_cpus() < 2)
		skip("needs two CPUs");
	victim = blame_run("ipis");
	reschedules = count_of(victim, (struct blame_wanted){
		.kind = "ipi", .name = "IPI: reschedule" });
	blame_check("reschedules", reschedules, truth->counters[RESCHEDULES], 3);
	blame_check("function calls", count_of(victim, (struct blame_wanted){ .kind = "ipi" }) -
		    count_of(victim, (struct blame_wanted){ .name = "IPI: irq_work" }) - reschedules,
		    truth->counters[FUNCTION_CALLS], 3);
	/* Linux 6.5 and later tell the function and who sent it */
	snprintf(name, sizeof(name), "IPI: ipi_mb from load-barrier[%d]", truth->loads[0].pid);
	if (!access("/sys/kernel/tracing/events/csd", F_OK))
		check(count_of(victim, (struct blame_wanted){ .name = name }) > BARRIERS / 2,
		      "no %s: %.900s", name, strstr(victim, "\"kind\": \"ipi\""));
	check(truth->counters[FUNCTION_CALLS] > BARRIERS / 2, "%llu function calls",
	      truth->counters[FUNCTION_CALLS]);
}

/* The timer of perf's samples is that of whoever asked for them. */
TEST(names_sampler)
{
	const char *victim = blame_run("samples");

	require(truth->loads[0].count, "perf_event_open()");
	blame_check("samples", count_of(victim, (struct blame_wanted){
		.kind = "timer", .how = "perf's samples", .thread = truth->loads[0].pid }), SAMPLES, 2);
}

/* An IPI that is sent while another one is being sent, by an interrupt of the same CPU. */
TEST(sees_nested_ipis)
{
	const char *victim;

	if (online_cpus() < 2)
		skip("needs two CPUs");
	victim = blame_run("nested");
	check(count_of(victim, (struct blame_wanted){ .kind = "ipi" }) > BARRIERS, "no IPIs");
}

/*
 * Several packets may be polled at once, many if the emulator's CPUs have to wait for the host's;
 * and one softirq polls again if more came while it did.
 */
TEST(names_steering)
{
	static const char backlog[] = "softirq NET_RX: backlog (lo, veth, RPS)";
	const char *victim;
	double polls;

	if (online_cpus() < 2 || access(STEERING, F_OK))
		skip("needs two CPUs and receive packet steering");
	victim = blame_run("steered");
	polls = count_of(victim, (struct blame_wanted){ .kind = "softirq", .name = backlog });
	blame_check("polls", polls, truth->counters[STEERED], 3);
	if (kernel_is_rt())
		return;			/* a thread polls, not a softirq */
	check(polls > BARRIERS / 50, "%.0f polls for %u packets", polls, truth->loads[0].count);
	check(strstr(victim, "\"take CPU 0 out of " STEERING "\""), "no remedy");
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "--executed")) {
		executed((unsigned int)atoi(argv[2]), argv[3]);
		return 0;
	}
	return blame_main(argc, argv, scenarios);
}
