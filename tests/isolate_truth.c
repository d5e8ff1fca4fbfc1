// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * "timershield status" reports what the kernel does, not what the command once did;
 * and what others do to the partition can be mended or undone.
 */
#define _GNU_SOURCE
#include "lib/isolation.h"
#include "file.h"
#include "lib/task.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define MOUNT "/sys/fs/cgroup"
#define PARTITION MOUNT "/timershield"
#define RIVAL MOUNT "/rival"
#define ONLINE "/sys/devices/system/cpu/cpu2/online"

static void prepare(void)
{
	prepare_cpus();
	rmdir(RIVAL);
}

/* What status says of this; "" if nothing. */
static const char *finding(const char *severity, const char *id)
{
	const char *out = timershield("status --json")->out;
	static char line[512], key[96];

	snprintf(key, sizeof(key), "\"severity\": \"%s\",\n      \"id\": \"%s\",\n", severity, id);
	out = strstr(out, key);
	snprintf(line, sizeof(line), "%.*s", out ? (int)strcspn(out, "}") : 0, out ? out : "");
	return line;
}

static void expect(const char *severity, const char *id, const char *text, const char *when)
{
	const char *line = finding(severity, id);

	check(strstr(line, text), "%s: status says '%s', not '%s %s ...%s'", when, line, severity,
	      id, text);
}

static void write_file(const char *path, const char *text)
{
	int ret = file_write(path, text);

	require(!ret, "%s: cannot write '%s': %s", path, text, strerror(-ret));
}

static bool kernel_isolates(void)
{
	char state[128];

	return file_read(PARTITION "/cpuset.cpus.partition", state, sizeof(state)) > 0 &&
	       !strcmp(state, "isolated\n");
}

/* From Linux 7 on, the partition stays. Whatever the kernel does, status says it. */
TEST(another_cgroup_takes_the_cpu)
{
	prepare();
	isolate("2");
	expect("good", "isolation", "CPU 2 is isolated from tasks and interrupts", "isolated");
	require(!mkdir(RIVAL, 0755), RIVAL ": %m");
	write_file(RIVAL "/cpuset.cpus", "2\n");
	if (kernel_isolates()) {
		expect("good", "isolation", "from tasks", "the kernel isolates it still");
		check_status(timershield("run -- /bin/isolate_truth --exit=9"), 9);
	} else {
		expect("bad", "isolation", RIVAL "/cpuset.cpus, then timershield isolate 2",
		       "invalid");
		expect("good", "isolation", "isolated from interrupts", "invalid");
		check_status(timershield("run -- /bin/isolate_truth --exit=9"), 125);
		check_status(timershield("isolate 2"), 1);
	}
	write_file(RIVAL "/cpuset.cpus", "0\n");
	isolate("2");
	expect("good", "isolation", "from tasks and interrupts", "after isolating it again");
	check(kernel_isolates(), "the kernel does not isolate it again");
	rmdir(RIVAL);
	unisolate("");
}

static void make_rival(const char *type)
{
	require(!mkdir(RIVAL, 0755), RIVAL ": %m");
	write_file(RIVAL "/cpuset.cpus", "2\n");
	write_file(RIVAL "/cpuset.cpus.partition", type);
}

/* Refused before anything is touched, also in a dry run, and the names of others are told. */
static void refuse(const char *words)
{
	const struct command_result *result = timershield("isolate %s", words);

	check_status(result, 1);
	check(strstr(result->err, RIVAL "/cpuset.cpus"), "isolate %s said: %s", words,
	      result->err);
}

/*
 * Linux 6.12 ends the partition for good if ours names its CPU but once. Kernel threads have never
 * asked to stay off that CPU, and get it back with the partition's end.
 */
TEST(partition_of_others_stays)
{
	static const char * const types[] = { "root\n", "isolated\n" };
	struct snapshot without, before;

	prepare();
	write_file(MOUNT "/cgroup.subtree_control", "+cpuset\n");
	snapshot_take(&without);
	for (unsigned int i = 0; i < ARRAY_SIZE(types); i++) {
		make_rival(types[i]);
		snapshot_take(&before);
		refuse("2");
		refuse("1-2");
		refuse("2 -n");
		snapshot_check(&before, "after refusals");
		isolate("1");
		refuse("2");
		unisolate("");
		snapshot_check(&before, "after isolating another CPU");
		check_status(timershield("isolate 0-1"), 1);
		snapshot_check(&before, "after a partition that leaves no CPU");
		snapshot_free(&before);
		rmdir(RIVAL);
		snapshot_check(&without, "after the other partition's end");
	}
	write_file(MOUNT "/cgroup.subtree_control", "-cpuset\n");
}

TEST(partition_is_removed)
{
	struct snapshot before;

	prepare();
	snapshot_take(&before);
	isolate("2");
	require(!rmdir(PARTITION), PARTITION ": %m");
	expect("bad", "isolation", "has been removed", "removed");
	check_status(timershield("status --check"), 1);
	isolate("2");
	check(kernel_isolates(), "the kernel does not isolate it again");
	require(!rmdir(PARTITION), PARTITION ": %m");
	unisolate("");
	snapshot_check(&before, "after unisolate");
}

TEST(isolated_cpu_goes_offline)
{
	const struct command_result *result;

	prepare();
	isolate("2");
	write_file(ONLINE, "0\n");
	expect("bad", "offline", "CPU 2 is isolated, but offline", "offline");
	result = timershield("run -c 2 -- /bin/isolate_truth --exit=0");
	check_status(result, 125);
	check(strstr(result->err, "CPU 2 is offline"), "it said: %s", result->err);
	write_file(ONLINE, "1\n");
	check(!*finding("bad", "offline"), "status says that CPU 2 is offline");
	isolate("2");
	expect("good", "isolation", "from tasks and interrupts", "online again");
	unisolate("");
}

/* Put there by somebody else: into the partition itself, or into a group below. */
TEST(foreign_processes_in_the_partition)
{
	static const char * const groups[] = { PARTITION, PARTITION "/deep" };
	struct snapshot before;
	char path[64], text[32];
	pid_t pid;

	prepare();
	pid = start_waiter();
	snapshot_take(&before);
	for (unsigned int i = 0; i < ARRAY_SIZE(groups); i++) {
		isolate("2");
		require(!mkdir(PARTITION "/deep", 0755), "mkdir: %m");
		snprintf(path, sizeof(path), "%s/cgroup.procs", groups[i]);
		snprintf(text, sizeof(text), "%d\n", pid);
		write_file(path, text);
		expect_affinity(pid, CPU(2), "in the partition");
		unisolate("");
		expect_affinity(pid, ALL_CPUS, "afterwards");
		snapshot_check(&before, "after unisolate");
	}
}

/* Stopped where only chosen tasks run, with the time that it had before. */
TEST(fair_server_stops)
{
	static const char * const files[] = {
		"/sys/kernel/debug/sched/fair_server/cpu1/runtime",
		"/sys/kernel/debug/sched/fair_server/cpu2/runtime",
	};
	char before[32], now[32];
	struct utsname name;

	prepare();
	uname(&name);
	if (atoi(name.release) < 7)
		skip("before Linux 7.0 the kernel warns when it is written");
	if (file_read(files[1], before, sizeof(before)) <= 0)
		skip("this kernel has no fair server");
	isolate("2");
	file_read(files[1], now, sizeof(now));
	check(!strcmp(now, "0\n"), "on the isolated CPU it has %s", now);
	file_read(files[0], now, sizeof(now));
	check(!strcmp(now, before), "on another CPU it has %s", now);
	isolate("1");
	unisolate("2");
	file_read(files[1], now, sizeof(now));
	check(!strcmp(now, before), "afterwards it has %s", now);
	unisolate("");
	file_read(files[0], now, sizeof(now));
	check(!strcmp(now, before), "at the end it has %s", now);
}

TEST(run_needs_no_isolated_cpu)
{
	const struct command_result *result;

	prepare();
	check_status(timershield("unisolate"), 0);
	result = timershield("run -c 1 -p 50 -- /bin/isolate_truth --tell");
	check(!strncmp(result->out, "cpus 2 policy 1 priority 50 ", 28), "it is: %s", result->out);
	check(strstr(result->err, "CPU 1 is not isolated"), "it said: %s", result->err);
	result = timershield_as_nobody("run -c 1 -- /bin/isolate_truth --tell");
	check(!strncmp(result->out, "cpus 2 policy 0 ", 16), "it is: %s%s", result->out,
	      result->err);
	isolate("2");
	result = timershield("run -- timershield run -c 1 -- /bin/isolate_truth --tell");
	check(!strncmp(result->out, "cpus 2 ", 7), "out of the partition: %s%s", result->out,
	      result->err);
	unisolate("");
}

/* kthreadd is one that may be moved, ksoftirqd/1 is not. */
TEST(run_sets_kernel_threads)
{
	const pid_t pids[] = { 2, thread_called("ksoftirqd/1") };

	prepare();
	require(pids[1], "there is no ksoftirqd/1");
	check_status(timershield("run -c 0 -P %d", pids[1]), 125);
	for (unsigned int i = 0; i < ARRAY_SIZE(pids); i++) {
		check_status(timershield("run -p 7 -P %d", pids[i]), 0);
		check(sched_getscheduler(pids[i]) == SCHED_FIFO, "%d is not FIFO", pids[i]);
		check_status(timershield("run -s other -P %d", pids[i]), 0);
		check(sched_getscheduler(pids[i]) == SCHED_OTHER, "%d is FIFO", pids[i]);
	}
}

/* Booted with isolcpus=2. */
TEST(isolated_at_boot)
{
	const struct command_result *result;
	struct snapshot before;
	char line[4096];

	if (file_read("/proc/cmdline", line, sizeof(line)) <= 0 || !strstr(line, "isolcpus=2"))
		skip("not booted with isolcpus=2");
	prepare();
	snapshot_take(&before);
	expect("good", "isolation", "CPU 2 is isolated from tasks", "after boot");
	isolate("2");
	expect("good", "isolation", "from tasks and interrupts", "isolated");
	check(access(PARTITION, F_OK), "there is a partition");
	result = timershield("run -- /bin/isolate_truth --tell");
	check(!strncmp(result->out, "cpus 4 ", 7), "it is: %s%s", result->out, result->err);
	isolate("1");
	result = timershield("run -c 1 -- /bin/isolate_truth --tell");
	check(!strncmp(result->out, "cpus 2 ", 7), "it is: %s%s", result->out, result->err);
	check_status(timershield("run -c 1-2 -- /bin/isolate_truth --tell"), 125);
	unisolate("");
	snapshot_check(&before, "after unisolate");
}

/* Of two hyperthreads of the machine's only core one is isolated; the other may disturb it. */
TEST(hyperthread_is_isolated)
{
	struct spinner spinner;
	char siblings[32];
	cpus_t seen;

	if (file_read("/sys/devices/system/cpu/cpu1/topology/thread_siblings_list", siblings,
		      sizeof(siblings)) <= 0 || strcmp(siblings, "0-1\n"))
		skip("CPU 0 and CPU 1 do not share a core");
	check_status(timershield("unisolate"), 0);
	spinner = start_spinner();
	check(strstr(timershield("isolate 1")->out,
		     "CPU 0, not isolated, shares a core with them"), "CPU 0 is not named");
	expect("bad", "siblings", "CPU 0 shares a core", "isolated");
	seen = spinner_watch(&spinner, 50 * MSEC);
	check(seen == CPU(0), "a spinner was seen on CPUs %#llx", seen);
	check_status(timershield("run -c 1 -p 50 -- /bin/isolate_truth --exit=3"), 3);
	end_process(spinner.pid);
	unisolate("");
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--tell"))
		return tell_policy();
	if (argc == 2 && !strncmp(argv[1], "--exit=", 7))
		return atoi(argv[1] + 7);
	return run_tests(argc, argv, 0);
}
