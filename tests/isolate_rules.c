// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which tasks run on an isolated CPU, "timershield run", and that "timershield unisolate" undoes
 * what "timershield isolate" changed: every file of interrupt affinity, the cgroup tree and every
 * task's affinity are then as they were.
 */
#define _GNU_SOURCE
#include "lib/isolation.h"
#include "file.h"
#include "lib/network.h"
#include "lib/task.h"

#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

/* A task that spins where it likes has left within 1 ms, and is not seen there again. */
TEST(running_task_leaves)
{
	struct spinner spinner;
	cpus_t seen;

	prepare_cpus();
	spinner = start_spinner();
	set_affinity(spinner.pid, CPU(1) | CPU(2));
	seen = spinner_watch(&spinner, 50 * MSEC);
	require(seen, "the spinner does not run");
	isolate("1");
	sleep_for(1 * MSEC);
	seen = spinner_watch(&spinner, 100 * MSEC);
	check(seen == CPU(2), "it was seen on CPUs %#llx", seen);
	end_process(spinner.pid);
	unisolate("");
}

TEST(stripped_remembered_and_restored)
{
	pid_t all, some, child;

	prepare_cpus();
	all = start_waiter();
	some = start_waiter();
	set_affinity(some, CPU(1) | CPU(2));
	isolate("1");
	child = start_waiter();
	expect_affinity(all, CPU(0) | CPU(2), "while CPU 1 is isolated");
	expect_affinity(some, CPU(2), "while CPU 1 is isolated");
	expect_affinity(child, CPU(0) | CPU(2), "of a new process");
	unisolate("");
	expect_affinity(all, ALL_CPUS, "afterwards");
	expect_affinity(some, CPU(1) | CPU(2), "afterwards");
	expect_affinity(child, ALL_CPUS, "afterwards");
}

/* Linux 6.2 and later keep what was asked for, also of CPUs that cannot be had now. */
static bool remembers_affinity(void)
{
	struct utsname kernel;

	return !uname(&kernel) && strncmp(kernel.release, "6.1.", 4);
}

TEST(affinity_asked_for_while_isolated)
{
	pid_t pid;

	prepare_cpus();
	pid = start_waiter();
	isolate("1");
	set_affinity(pid, CPU(0) | CPU(1));
	expect_affinity(pid, CPU(0), "asked for 0-1 while CPU 1 is isolated");
	unisolate("");
	expect_affinity(pid, remembers_affinity() ? CPU(0) | CPU(1) : CPU(0), "afterwards");
}

TEST(kept_when_nothing_would_remain)
{
	pid_t pid;

	prepare_cpus();
	pid = start_waiter();
	set_affinity(pid, CPU(1));
	isolate("1");
	expect_affinity(pid, CPU(1), "of one that asked for CPU 1 alone");
	isolate("2");
	expect_affinity(pid, CPU(1), "while CPU 2 is isolated too");
	unisolate("");
	expect_affinity(pid, CPU(1), "afterwards");
}

/*
 * Every interrupt that may be moved is directed elsewhere, though an old interrupt
 * controller moves one only when it occurs next; a cascade occurs never.
 */
TEST(interrupts_leave)
{
	char report[COMMAND_OUTPUT], *rest = report, *line;

	prepare_cpus();
	isolate("--irqs 1");
	check(strstr(timershield("status")->out, "  CPU 1 is isolated from interrupts."),
	      "status does not list it");
	strcpy(report, timershield("isolate --irqs 1")->out);
	while ((line = strsep(&rest, "\n")))
		check(strncmp(line, "  ", 2) || strstr(line, "  moves ") ||
		      strstr(line, "  cascade "), "still there: %s", line);
	unisolate("");
}

#define STEERING "/sys/class/net/lo/queues/rx-0/rps_cpus"

/* In the softirq NET_RX, or on PREEMPT_RT from Linux 6.10 on in a thread. */
static u64 packets_of(unsigned int cpu)
{
	static char text[16384];
	char *line = text;

	require(file_read("/proc/net/softnet_stat", text, sizeof(text)) > 0, "no softnet_stat");
	for (unsigned int i = 0; i < cpu; i++) {
		line = strchr(line, '\n');
		require(line++, "no CPU %u in softnet_stat", cpu);
	}
	return strtoull(line, NULL, 16);
}

/* Of 64 flows from CPU 0, so that steering uses all CPUs. What CPU 1 processes meanwhile. */
static u64 receive_packets(void)
{
	struct sockaddr_in own = { .sin_family = AF_INET };
	socklen_t length = sizeof(own);
	int receiver = socket(AF_INET, SOCK_DGRAM, 0);
	u64 before;

	own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	require(!bind(receiver, (struct sockaddr *)&own, length) &&
		!getsockname(receiver, (struct sockaddr *)&own, &length), "bind: %m");
	set_affinity(0, CPU(0));
	before = packets_of(1);
	for (unsigned int flow = 0; flow < 64; flow++) {
		int sender = socket(AF_INET, SOCK_DGRAM, 0);

		for (unsigned int i = 0; i < 20; i++) {
			sendto(sender, "", 1, 0, (struct sockaddr *)&own, length);
			sleep_for(200 * USEC);
		}
		close(sender);
	}
	close(receiver);
	set_affinity(0, ALL_CPUS);
	return packets_of(1) - before;
}

TEST(packets_are_not_steered_there)
{
	char mask[64];
	u64 count;

	prepare_cpus();
	if (access(STEERING, F_OK))
		skip("this kernel does not steer packets");
	require(!file_write(STEERING, "7"), STEERING ": %m");
	count = receive_packets();
	check(count > 100, "only %llu packets on CPU 1 before", count);
	isolate("1");
	count = receive_packets();
	check(!count, "%llu packets on the isolated CPU", count);
	file_write(STEERING, "2");
	check(strstr(timershield("isolate 1")->out, "rps_cpus names only isolated CPUs"),
	      "steering to the isolated CPU alone is not listed");
	check(strstr(timershield("status")->out, " 1 receive queue still"),
	      "status does not count it");
	file_write(STEERING, "7");
	isolate("1");
	unisolate("");
	file_read(STEERING, mask, sizeof(mask));
	check(strtoull(mask, NULL, 16) == ALL_CPUS, "afterwards packets go to %s", mask);
	file_write(STEERING, "0");
}

/* The number of the interrupt whose thread this is, or -1. */
static int irq_of_thread(pid_t pid)
{
	char path[64], name[64];
	int irq;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	return file_read(path, name, sizeof(name)) > 0 && sscanf(name, "irq/%d-", &irq) == 1 ?
	       irq : -1;
}

/* Each is where its interrupt is, or at least on none of these CPUs. */
static unsigned int check_irq_threads(cpus_t isolated, const char *when)
{
	unsigned int threads = 0;
	char path[64], place[64];

	for (pid_t pid = 2; pid < 200; pid++) {
		int irq = irq_of_thread(pid);
		cpus_t is;

		if (irq < 0)
			continue;
		threads++;
		snprintf(path, sizeof(path), "/proc/irq/%d/effective_affinity", irq);
		require(file_read(path, place, sizeof(place)) > 0, "cannot read %s", path);
		is = affinity(pid);
		check(is == strtoull(place, NULL, 16) || (isolated && !(is & isolated)),
		      "%s: the thread of interrupt %d may run on CPUs %#llx; that goes to %s", when,
		      irq, is, place);
	}
	return threads;
}

/* With PREEMPT_RT interrupts have threads: they go where these go. */
TEST(threads_of_interrupts_leave)
{
	prepare_cpus();
	if (!check_irq_threads(0, "before"))
		skip("no interrupt has a thread");
	isolate("1");
	check_irq_threads(CPU(1), "while CPU 1 is isolated");
	unisolate("");
	check_irq_threads(0, "afterwards");
}

/* Each foreign task that remains is named with a reason. */
TEST(what_remains_is_named)
{
	const char *out;

	prepare_cpus();
	out = timershield("isolate 1")->out;
	check(strstr(out, "  CPU 1  migration/1 "), "it said: %s", out);
	check(strstr(out, "  per-CPU kernel thread: "), "it said: %s", out);
	check(!strstr(out, "kernel kept it"), "it said: %s", out);
	unisolate("");
}

TEST(run_is_there_with_its_priority)
{
	const struct command_result *result;

	prepare_cpus();
	isolate("1-2");
	result = timershield("run -c 1 -p 50 -- /bin/isolate_rules --tell");
	check_status(result, 0);
	check(!strncmp(result->out, "cpus 2 policy 1 priority 50 ", 28), "it is: %s", result->out);
	result = timershield("run -c 2 -s rr -p 7 -- /bin/isolate_rules --tell");
	check_status(result, 0);
	check(!strcmp(result->out, "cpus 4 policy 2 priority 7 slack 0\n"), "it is: %s",
	      result->out);
	result = timershield("run -- /bin/isolate_rules --tell");
	check(!strcmp(result->out, "cpus 6 policy 0 priority 0 slack 1\n"), "it is: %s",
	      result->out);
	unisolate("");
}

TEST(run_hands_the_status_through)
{
	prepare_cpus();
	isolate("1");
	check_status(timershield("run -- /bin/isolate_rules --exit=0"), 0);
	check_status(timershield("run -- /bin/isolate_rules --exit=77"), 77);
	check_status(timershield("run -p 99 -- /bin/isolate_rules --kill=15"), 128 + 15);
	check_status(timershield("run -- /bin/no-such-command"), 127);
	check_status(timershield("run -- /etc/passwd"), 126);
	check_status(timershield("run -c 1-2 -- /bin/isolate_rules --exit=0"), 125);
	check_status(timershield_as_nobody("run -- /bin/isolate_rules --exit=0"), 125);
	unisolate("");
	check_status(timershield("run -- /bin/isolate_rules --exit=0"), 125);
}

TEST(run_moves_a_process_there_and_back)
{
	struct spinner spinner;
	cpus_t seen;
	pid_t child;

	prepare_cpus();
	spinner = start_spinner();
	isolate("1");
	check_status(timershield("run -P %d", spinner.pid), 0);
	expect_affinity(spinner.pid, CPU(1), "after run -P");
	seen = spinner_watch(&spinner, 20 * MSEC);
	check(seen == CPU(1), "it was seen on CPUs %#llx", seen);
	check_status(timershield("run -p 3 -P %d", spinner.pid), 0);
	check(sched_getscheduler(spinner.pid) == SCHED_FIFO, "it is not FIFO");
	child = start_waiter();
	expect_affinity(child, CPU(0) | CPU(2), "of another");
	unisolate("");
	expect_affinity(spinner.pid, CPU(1), "after unisolate, as it was asked to");
	check_status(timershield("run -P 999999"), 125);
	end_process(spinner.pid);
}

static int priority_of(pid_t pid)
{
	struct sched_param parameter;

	return sched_getparam(pid, &parameter) ? -1 : parameter.sched_priority;
}

/* The kernel waits for a thread on CPU 1 that PREEMPT_RT's RCU has there. */
TEST(run_next_to_one_that_never_sleeps)
{
	pid_t rcu = thread_called("rcuc/1"), waiter;
	struct spinner spinner;

	prepare_cpus();
	spinner = start_spinner();
	waiter = start_waiter();
	isolate("1-2");
	check_status(timershield("run -c 1 -p 3 -P %d", spinner.pid), 0);
	if (remembers_affinity())	/* else it may start on CPU 1 */
		check_status(timershield("run -c 2 -- /bin/isolate_rules --exit=0"), 0);
	check_status(timershield("run -c 2 -P %d", waiter), 0);
	check_status(timershield("run -c 0 -P %d", waiter), 0);
	unisolate("2");
	unisolate("");
	check(!rcu || priority_of(rcu) < 3, "rcuc/1 has priority %d", priority_of(rcu));
	end_process(spinner.pid);
}

/* A benchmark: the same work again and again; prints the shortest and the longest time in us. */
static int time_work(void)
{
	u64 shortest = UINT64_MAX, longest = 0;

	for (int i = 0; i < 50; i++) {
		u64 begin = now(), time;

		for (volatile int round = 0; round < 500000; round++)
			;
		time = now() - begin;
		shortest = time < shortest ? time : shortest;
		longest = time > longest ? time : longest;
	}
	printf("%llu to %llu\n", shortest / USEC, longest / USEC);
	return 0;
}

/* How many times the shortest time the longest is, in percent. */
static u64 spread(const char *command)
{
	const struct command_result *result = timershield("%s", command);
	u64 shortest, longest;

	check_status(result, 0);
	require(sscanf(result->out, "%llu to %llu", &shortest, &longest) == 2 && shortest,
		"it printed: %s", result->out);
	note("%s: %llu to %llu us", command, shortest, longest);
	return longest * 100 / shortest;
}

TEST(benchmark_is_steady_on_an_isolated_cpu)
{
	struct spinner neighbours[12];
	u64 before, isolated;

	prepare_cpus();
	for (size_t i = 0; i < ARRAY_SIZE(neighbours); i++)
		neighbours[i] = start_spinner();
	sleep_for(300 * MSEC);
	before = spread("run -c 0-2 -- /bin/isolate_rules --work");
	isolate("1");
	isolated = spread("run -- /bin/isolate_rules --work");
	unisolate("");
	for (size_t i = 0; i < ARRAY_SIZE(neighbours); i++)
		end_process(neighbours[i].pid);
	check(isolated - 100 < (before - 100) / 2, "%llu %% of the shortest, %llu %% before", isolated,
	      before);
}

TEST(refused_without_privilege)
{
	int status;
	pid_t pid;

	prepare_cpus();
	isolate("1");
	pid = fork();
	if (!pid) {
		become_nobody();
		_exit(try_affinity(0, CPU(1)) ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	check(!status, "a task without privilege took the isolated CPU");
	unisolate("");
}

/* A thread of this process that selects CPU 1 alone, and says which CPUs it then has. */
static void *select_cpu(void *chosen)
{
	*(cpus_t *)chosen = try_affinity(0, CPU(1)) ? 0 : affinity(0);
	return NULL;
}

TEST(affinity_alone_selects_the_cpu)
{
	pid_t some, only, child, late;
	struct spinner spinner;
	struct snapshot before;
	cpus_t chosen, seen;
	pthread_t thread;

	prepare_tasks(&before);
	spinner = start_spinner();
	some = start_waiter();
	only = start_waiter();
	late = start_waiter();
	set_affinity(some, CPU(1) | CPU(2));
	set_affinity(only, CPU(1));
	isolate("1 --by-affinity");
	child = start_waiter();
	expect_affinity(some, CPU(2), "while CPU 1 is isolated");
	expect_affinity(only, CPU(1), "of one that had CPU 1 alone");
	expect_affinity(child, CPU(0) | CPU(2), "of a new process");
	seen = spinner_watch(&spinner, 50 * MSEC);
	check(!(seen & CPU(1)), "a spinner was seen on CPUs %#llx", seen);
	pthread_create(&thread, NULL, select_cpu, &chosen);
	pthread_join(thread, NULL);
	check(chosen == CPU(1), "a thread that selects CPU 1 has CPUs %#llx", chosen);
	expect_affinity(0, CPU(0) | CPU(2), "of its process");
	set_affinity(child, CPU(1));
	set_affinity(late, CPU(0) | CPU(1));
	check(strstr(timershield("status")->out, "  task "), "status does not list what came back");
	isolate("1 --by-affinity");
	expect_affinity(child, CPU(1), "selected while CPU 1 is isolated");
	expect_affinity(late, CPU(0), "of one that asked for other CPUs, too");
	check_status(timershield("run -- /bin/isolate_rules --tell"), 0);
	check(!strncmp(timershield("run -- /bin/isolate_rules --tell")->out, "cpus 2 ", 7),
	      "run does not select CPU 1");
	check_status(timershield("isolate 2"), 1);
	check_status(timershield_as_nobody("unisolate"), 3);
	unisolate("");
	expect_affinity(some, CPU(1) | CPU(2), "afterwards");
	expect_affinity(only, CPU(1), "afterwards");
	expect_affinity(child, CPU(1), "afterwards");
	expect_affinity(late, CPU(0) | CPU(1), "afterwards");
	check_status(timershield_as_nobody("isolate 1 --by-affinity"), 3);
	end_process(spinner.pid);
	snapshot_check(&before, "after unisolate");
}

TEST(undone_twice_and_in_parts)
{
	struct snapshot before, one, again;

	prepare_tasks(&before);
	isolate("1");
	snapshot_take(&one);
	isolate("1");
	snapshot_check(&one, "after the same isolation again");
	isolate("2");
	unisolate("2");
	snapshot_take(&again);
	snapshot_compare(&one, &again, "after CPU 2 was isolated for a time");
	isolate("--only --irqs 2");
	isolate("--only 1-2");
	unisolate("--irqs 1");
	unisolate("--procs");
	unisolate("2");
	snapshot_check(&before, "after the isolation ended in parts");
	unisolate("");
	snapshot_check(&before, "after a further unisolate");
}

/* Isolates or ends it 20 times, each a process of its own, all at once. */
TEST(many_at_once)
{
	struct snapshot before;
	pid_t pids[20];
	int status;

	prepare_tasks(&before);
	for (unsigned int i = 0; i < ARRAY_SIZE(pids); i++)
		pids[i] = i % 3 ? timershield_start("isolate %u", 1 + i % 2) :
			  timershield_start("unisolate");
	for (unsigned int i = 0; i < ARRAY_SIZE(pids); i++) {
		waitpid(pids[i], &status, 0);
		check(!status, "process %u ended with %#x", i, status);
	}
	unisolate("");
	snapshot_check(&before, "after many at once");
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--tell"))
		return tell_policy();
	if (argc == 2 && !strcmp(argv[1], "--work"))
		return time_work();
	if (argc == 2 && !strncmp(argv[1], "--exit=", 7))
		return atoi(argv[1] + 7);
	if (argc == 2 && !strncmp(argv[1], "--kill=", 7))
		return kill(getpid(), atoi(argv[1] + 7));
	return run_tests(argc, argv, 0);
}
