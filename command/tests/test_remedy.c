// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What blame advises, on machines that differ in what they can do, and what it calls devices of the
 * network: on directories, as --root takes them.
 */
#include "blame/cause.h"
#include "blame/report.h"
#include "blame/symbols.h"
#include "blame/task_info.h"
#include "check.h"
#include "lib/file.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define TICK 0xffffffff81000010ull
#define FUTEX (SYS_futex + 1)
#define CGROUP "sys/fs/cgroup"

static const struct who victim_who = { .tid = 70, .tgid = 70, .comm = "loop", .priority = 49 };
static const struct who ordinary = { .tid = 80, .tgid = 80, .comm = "hog", .priority = 120 };
static const struct who higher = { .tid = 81, .tgid = 81, .comm = "other", .priority = 9 };
static const struct who unknown;

static void put(const char *path, const char *content)
{
	autofree char *file = format("%s/%s", file_root(), path);

	for (char *at = file + strlen(file_root()) + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		mkdir(file, 0755);
	}
	check(!file_replace(file + strlen(file_root()), content, strlen(content)), "%s", file);
	task_info_look_again();
	remedy_free();
}

/* FLAGS: the kernel's. POLICY: its real-time priority and its policy. */
static void put_task(u32 tid, const char *name, u32 flags, const char *policy, const char *cpus)
{
	autofree char *directory = format("proc/%u/task/%u", tid, tid);
	autofree char *stat = format("%s/stat", directory), *status = format("%s/status", directory);
	autofree char *fields = format("%u (%s) S 1 0 0 0 -1 %u 0 0 0 0 0 0 0 0 20 0 1 0 123"
				       " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 %s\n", tid, name, flags, policy);
	autofree char *list = format("Name:\t%s\nCpus_allowed_list:\t%s\n", name, cpus);

	put(stat, fields);
	put(status, list);
}

static void advises(const char *wanted, struct cause cause, const struct who *who,
		    enum masked masked)
{
	struct blame_victim victim = { .id = 70, .victim = { .cpu = 1, .who = victim_who } };
	struct blame_row row = { .cause = cause, .row.who = *who };
	autofree char *remedy = remedy_for(&victim, &row, masked);

	check(wanted ? remedy && !strcmp(remedy, wanted) : !remedy, "cause %u: '%s', not '%s'",
	      cause.kind, remedy ? remedy : "none", wanted ? wanted : "none");
}

static void advises_for_task(const char *wanted, const struct who *who)
{
	advises(wanted, (struct cause){ .kind = CAUSE_TASK, .id = who->tid }, who, MASKED_NO);
}

static void advises_for_timer(const char *wanted)
{
	advises(wanted, (struct cause){ .kind = CAUSE_TIMER, .id = 80 }, &ordinary, MASKED_YES);
}

static void advises_for_realtime_timer(const char *wanted)
{
	static const struct who lower = { .tid = 83, .tgid = 83, .comm = "low", .priority = 79 };

	advises(wanted, (struct cause){ .kind = CAUSE_TIMER, .id = 83 }, &lower, MASKED_LEVELS);
}

static void advises_for(const char *wanted, u32 kind, u32 id)
{
	advises(wanted, (struct cause){ .kind = kind, .id = id, .function = TICK },
		kind == CAUSE_THROTTLED ? &victim_who : &unknown, MASKED_NO);
}

/* Four CPUs that can be isolated, and a kernel with all options. */
static void able(void)
{
	put("sys/devices/system/cpu/online", "0-3\n");
	put("sys/devices/system/cpu/possible", "0-3\n");
	put("proc/sys/kernel/osrelease", "6.12.1\n");
	put("lib/modules/6.12.1/config", "CONFIG_NO_HZ_FULL=y\nCONFIG_RCU_NOCB_CPU=y\n");
	put("proc/kallsyms", "ffffffff81000010 t tick_nohz_handler\n");
	put("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	put(CGROUP "/cgroup.controllers", "cpuset cpu\n");
	put("proc/sys/kernel/timershield", "0\n");
}

static void on_an_able_machine(void)
{
	advises_for_task("timershield isolate 1", &ordinary);
	advises_for_task("taskset -apc 0,2-3 81, or lower its priority", &higher);
	advises_for_task(NULL, &victim_who);
	advises_for_timer("timershield timers on");
	advises_for("boot with nohz_full=1", CAUSE_KERNEL_TIMER, 0);
	advises_for("boot with rcu_nocbs=1", CAUSE_SOFTIRQ, SOFTIRQ_RCU);
	advises_for("timershield isolate --irqs 1", CAUSE_IRQ, 9);
	advises_for("raise the CPU quota of its cgroup", CAUSE_THROTTLED, THROTTLE_QUOTA);
	advises_for("sysctl kernel.sched_rt_runtime_us=-1", CAUSE_THROTTLED, THROTTLE_RT);
	put("proc/sys/kernel/timershield", "1\n");
	advises_for_timer("timershield isolate 1");
}

/* Levels mask timers of real-time tasks, and only where all of these are pinned. */
static void on_a_machine_of_real_time_tasks(void)
{
	put_task(83, "low", 0, "20 1", "1");
	put("proc/sys/kernel/timershield", "0\n");
	advises_for_realtime_timer("timershield timers levels");
	put("proc/sys/kernel/timershield", "1\n");
	advises_for_realtime_timer("timershield timers levels");
	put("proc/sys/kernel/timershield", "2\n");
	advises_for_realtime_timer("timershield isolate 1");
	put("proc/sys/kernel/timershield", "1\n");
	put_task(83, "low", 0, "20 1", "1-2");
	advises_for_realtime_timer("timershield isolate 1");
}

/* No cpusets, no shield, and nothing of the kernel's that a command line could switch on. */
static void on_an_unable_machine(void)
{
	autofree char *switch_file = file_path("/proc/sys/kernel/timershield");

	unlink(switch_file);
	put(CGROUP "/cgroup.controllers", "cpu\n");
	put("lib/modules/6.12.1/config", "CONFIG_HZ=250\n");
	advises_for_task("taskset -apc 0,2-3 80", &ordinary);
	advises_for_task("taskset -apc 0,2-3 81, or lower its priority", &higher);
	advises_for("timershield isolate --irqs 1", CAUSE_IRQ, 9);
	advises_for(NULL, CAUSE_KERNEL_TIMER, 0);
	advises_for(NULL, CAUSE_SOFTIRQ, SOFTIRQ_RCU);
	advises_for_timer("load the TimerShield module ('make module' in its source)");
	put("proc/sys/kernel/osrelease", "6.18.1\n");
	advises_for_timer("taskset -apc 0,2-3 80");
	put("lib/modules/6.18.1/modules.dep", "extra/timershield.ko:\n");
	advises_for_timer("timershield timers on");
}

/* Of a task that stays long in a kernel that is not preemptible, and of what a task waits for. */
static void for_what_keeps_it(void)
{
	static const struct who deadline = { .tid = 82, .tgid = 82, .comm = "dl", .priority = -1 };
	static const u32 fsync = SLEEP_DEEP << HOW_SHIFT | 75;
	struct blame_victim victim = { .id = 70, .victim = { .cpu = 1, .who = victim_who } };
	struct blame_row row = { .cause = { .kind = CAUSE_TASK, .id = 80 }, .row.who = ordinary };
	autofree char *preempt = NULL, *among = NULL, *of_session = NULL;

	advises_for_task("chrt -f -p 1 82, if it needs no deadline", &deadline);
	advises("timershield isolate 1", (struct cause){ .kind = CAUSE_IRQS_OFF, .id = 80 },
		&ordinary, MASKED_NO);
	advises("chrt -f -p 91 80, or PTHREAD_PRIO_INHERIT if that holds its mutex", (struct cause){
		.kind = CAUSE_KEPT, .id = 81, .how = 80, .function = FUTEX }, &higher, MASKED_NO);
	advises("chrt -f -p 91 80", (struct cause){
		.kind = CAUSE_KEPT, .id = 81, .how = 80, .function = 46 }, &higher, MASKED_NO);
	put_task(16, "kworker/u4:1", TASK_KERNEL_THREAD, "0 0", "0-3");
	advises("taskset -apc 0,2-3 81", (struct cause){ .kind = CAUSE_KEPT, .id = 81, .how = 16 },
		&higher, MASKED_NO);
	advises("end 80, or let it sample less often (perf record -F)", (struct cause){
		.kind = CAUSE_TIMER, .id = 80, .how = HOW_PERF << HOW_SHIFT }, &ordinary, MASKED_NO);
	advises(NULL, (struct cause){ .kind = CAUSE_BLOCKED, .how = SLEEP_DEEP << HOW_SHIFT },
		&unknown, MASKED_NO);
	put_task(15, "ktimers/0", TASK_KERNEL_THREAD, "1 1", "0-3");
	advises("chrt -f -p 91 15", (struct cause){ .kind = CAUSE_KEPT, .id = 81, .how = 15 },
		&higher, MASKED_NO);
	advises("let hog[80] hold that lock for less time", (struct cause){
		.kind = CAUSE_BLOCKED, .id = 80, .how = SLEEP_LOCK << HOW_SHIFT }, &ordinary, MASKED_NO);
	advises("let whoever has it hold that lock for less time", (struct cause){
		.kind = CAUSE_BLOCKED, .how = SLEEP_LOCK << HOW_SHIFT }, &unknown, MASKED_NO);
	advises("kill 80, which traces it", (struct cause){
		.kind = CAUSE_BLOCKED, .id = 80, .how = SLEEP_TRACED << HOW_SHIFT }, &ordinary,
		MASKED_NO);
	advises("leave that system call to another thread", (struct cause){
		.kind = CAUSE_BLOCKED, .how = fsync }, &unknown, MASKED_NO);
	advises("mlockall(MCL_CURRENT | MCL_FUTURE), and MAP_POPULATE", (struct cause){
		.kind = CAUSE_FAULT }, &victim_who, MASKED_NO);
	put("sys/kernel/debug/sched/preempt", "(none) voluntary full\n");
	row.row.stack = 1;
	preempt = remedy_for(&victim, &row, MASKED_NO);
	check(!strcmp(preempt, "boot with preempt=full"), "%s", preempt);
	victim.victim.who.priority = 120;
	row.row.stack = 0;
	among = remedy_for(&victim, &row, MASKED_NO);
	check(!strcmp(among, "renice -n -19 -p 70, or chrt -f -p 1 70"), "%s", among);
	put_task(70, "loop", 0, "0 0", "1-2");
	put_task(80, "hog", 0, "0 0", "1-2");
	put("proc/70/autogroup", "/autogroup-7 nice 0\n");
	put("proc/80/autogroup", "/autogroup-8 nice 0\n");
	put("proc/sys/kernel/sched_autogroup_enabled", "1\n");
	of_session = remedy_for(&victim, &row, MASKED_NO);
	check(!strcmp(of_session, "echo -19 >/proc/70/autogroup, or chrt -f -p 1 70"), "%s", of_session);
}

/* It does not take the victim with it; and what is locked is copied all the same. */
static void in_the_same_process(void)
{
	static const struct who sibling = { .tid = 81, .tgid = 70, .priority = 9 };
	static const struct cause fault = { .kind = CAUSE_FAULT };

	put_task(70, "loop", 0, "50 1", "1-2");
	put("proc/70/limits", "Max locked memory         65536                65536                bytes\n");
	put("proc/70/status", "Name:\tloop\nTgid:\t70\nVmSize:\t    8000 kB\nVmLck:\t       0 kB\n");
	advises("ulimit -l unlimited, then mlockall(MCL_CURRENT | MCL_FUTURE), and MAP_POPULATE", fault,
		&victim_who, MASKED_NO);
	put("proc/70/status", "Name:\tloop\nTgid:\t70\nVmSize:\t    8000 kB\nVmLck:\t       0 kB\n"
	    "CapEff:\t0000000000004000\n");
	advises("mlockall(MCL_CURRENT | MCL_FUTURE), and MAP_POPULATE", fault, &victim_who, MASKED_NO);
	put("proc/70/status", "Name:\tloop\nTgid:\t70\nVmLck:\t    4000 kB\n");
	advises_for_task("taskset -pc 0,2-3 81, or lower its priority", &sibling);
	advises("mlockall() with MCL_FUTURE", fault, &victim_who, MASKED_NO);
}

static void on_a_single_cpu(void)
{
	put("sys/devices/system/cpu/online", "1\n");
	advises_for_task(NULL, &ordinary);
	advises_for_task(NULL, &higher);
	advises_for(NULL, CAUSE_IRQ, 9);
}

static void where_it_is_isolated(void)
{
	put(CGROUP "/timershield/cpuset.cpus", "1\n");
	put(CGROUP "/timershield/cpuset.cpus.effective", "1\n");
	put(CGROUP "/timershield/cpuset.cpus.partition", "isolated\n");
	advises_for_task("taskset -apc 0,2-3 80", &ordinary);
	advises_for("timershield isolate --irqs 1", CAUSE_IRQ, 9);
}

/* What a victim may not use is given to it by a setting, and by no isolation. */
static void where_it_may_not_run(void)
{
	put_task(70, "loop", 0, "50 1", "1-2");
	put("proc/70/status", "Name:\tloop\nTgid:\t70\n");
	put("proc/70/cgroup", "0::/web.slice/loop.service\n");
	put(CGROUP "/web.slice/loop.service/cpu.max", "max 100000\n");
	put(CGROUP "/web.slice/cpu.max", "20000 100000\n");
	advises_for("echo max >'/sys/fs/cgroup/web.slice/cpu.max'", CAUSE_THROTTLED,
		    THROTTLE_QUOTA);
	advises_for("let it sleep for longer (before Linux 7.0 the kernel warns when the fair server is stopped)",
		    CAUSE_THROTTLED, THROTTLE_SERVER);
	put("proc/sys/kernel/osrelease", "7.3.1\n");
	advises_for("echo 0 >/sys/kernel/debug/sched/fair_server/cpu1/runtime", CAUSE_THROTTLED,
		    THROTTLE_SERVER);
}

/* A group whose memory.high was reached while blame watched; its parent's was not. */
static void where_memory_is_limited(void)
{
	const struct cause cause = { .victim = 70, .kind = CAUSE_BLOCKED, .how = SLEEP_DEEP << HOW_SHIFT };
	autofree char *before = NULL, *after = NULL;

	put_task(70, "loop", 0, "0 0", "1-2");
	put("proc/70/status", "Name:\tloop\nTgid:\t70\n");
	put("proc/70/cgroup", "0::/pod/app\n");
	put(CGROUP "/pod/memory.high", "90000000\n");
	put(CGROUP "/pod/memory.events", "low 0\nhigh 7\n");
	put(CGROUP "/pod/app/memory.high", "30000000\n");
	put(CGROUP "/pod/app/memory.events", "low 0\nhigh 5\n");
	before = cause_name(&cause, &unknown, false);
	check(!strcmp(before, "blocked in page fault (disk, or a lock of the kernel)"), "%s", before);
	put(CGROUP "/pod/app/memory.events", "low 0\nhigh 6\n");
	after = cause_name(&cause, &unknown, false);
	check(!strcmp(after, "memory limit of /pod/app (memory.high)"), "%s", after);
	advises("echo max >'/sys/fs/cgroup/pod/app/memory.high'", cause, &unknown, MASKED_NO);
}

/* Two ordinary tasks on a CPU of isolcpus=, and the victim may run on another one. */
static void where_nobody_balances(void)
{
	const struct blame_victim victim = {
		.id = 70, .victim = { .cpu = 1, .who = { .tid = 70, .tgid = 70, .priority = 120 } },
	};
	struct blame_row row = { .cause = { .kind = CAUSE_TASK, .id = 80 }, .row.who = ordinary };
	const struct blame_row sibling = {
		.cause = { .kind = CAUSE_TASK, .id = 81 }, .row.who = { .tid = 81, .tgid = 70, .priority = 120 },
	};
	autofree char *stat = file_path("/proc/70/task/70/stat"), *remedy = NULL, *of_both = NULL;

	put("proc/cmdline", "isolcpus=1-2\n");
	put("sys/devices/system/cpu/isolated", "1-2\n");
	put_task(70, "loop", 0, "0 0", "1-2");
	put_task(80, "hog", 0, "0 0", "1-2");
	check(remedy_unbalanced(&victim, &row), "it is not seen");
	remedy = remedy_for(&victim, &row, MASKED_NO);
	check(!strcmp(remedy, "taskset -pc 2 70"), "%s", remedy);
	of_both = remedy_for(&victim, &sibling, MASKED_NO);
	check(!strcmp(of_both, "taskset -pc 2 81"), "%s", of_both);
	check(!unlink(stat), "%s", stat);
	task_info_look_again();
	check(remedy_unbalanced(&victim, &row), "it is forgotten when the task has ended");
	put_task(70, "loop", 0, "0 0", "1");
	check(!remedy_unbalanced(&victim, &row), "there is no other CPU");
}

/* A user's own group: what blame prints does nothing to a terminal, nor to a shell. */
static void is_in_group(const char *group, const char *name, const char *remedy)
{
	const struct cause cause = { .kind = CAUSE_THROTTLED, .id = THROTTLE_QUOTA };
	autofree char *line = format("0::/%s\n", group), *called = NULL;
	autofree char *max = format(CGROUP "/%s/cpu.max", group);

	put("proc/70/cgroup", line);
	put(max, "20000 100000\n");
	called = cause_name(&cause, &victim_who, false);
	check(!strcmp(called, name), "%s", called);
	advises_for(remedy, CAUSE_THROTTLED, THROTTLE_QUOTA);
}

static void where_users_name_groups(void)
{
	put_task(70, "loop", 0, "50 1", "1-2");
	put("proc/70/status", "Name:\tloop\nTgid:\t70\n");
	is_in_group("x;reboot;", "CPU quota of /x;reboot; (cpu.max)",
		    "echo max >'/sys/fs/cgroup/x;reboot;/cpu.max'");
	is_in_group("x';reboot;'", "CPU quota of /x';reboot;' (cpu.max)",
		    "raise the CPU quota of its cgroup");
	is_in_group("\033[m", "CPU quota of /?[m (cpu.max)", "raise the CPU quota of its cgroup");
}

static void is_device(const char *device, u32 id, const char *wanted)
{
	struct cause cause = { .kind = CAUSE_SOFTIRQ, .id = NET_RX, .how = id };
	struct who who = { 0 };
	autofree char *name = NULL;

	memcpy(who.comm, device, strnlen(device, COMM_SIZE));
	name = cause_name(&cause, &who, false);
	check(!strcmp(name, wanted), "%s", name);
}

static void devices(void)
{
	is_device("", 0, "softirq NET_RX");
	is_device("eth0", 2, "softirq NET_RX: eth0");
	is_device("fifteen-letters", 3, "softirq NET_RX: fifteen-letters");
	is_device("\033[m", 4, "softirq NET_RX: ?[m");
	is_device("(no_device)", NO_DEVICE, "softirq NET_RX: backlog (lo, veth, RPS)");
}

/* Rows of one process become one, but not what was blocked in different system calls. */
static void rows_of_a_process(void)
{
	struct blame_row rows[] = {
		{ { 70, CAUSE_TASK, 80, 0, 0 }, { .count = 1, .total = 4, .who = ordinary }, false },
		{ { 70, CAUSE_TASK, 84, 0, 0 }, { .count = 1, .total = 3, .who = { .tid = 84, .tgid = 80 } }, false },
		{ { 70, CAUSE_BLOCKED, 80, SLEEP_DEEP << HOW_SHIFT | 75, 0 }, { .total = 2, .who = ordinary }, false },
		{ { 70, CAUSE_BLOCKED, 80, SLEEP_DEEP << HOW_SHIFT | 76, 0 }, { .total = 1, .who = ordinary }, false },
	};
	struct blame_victim victim = { .id = 70, .victim = { .taken = 10, .who = victim_who } };
	struct blame_figures figures = {
		.rows = rows, .row_count = ARRAY_SIZE(rows), .victims = &victim, .victim_count = 1,
	};
	struct report report = { 0 };

	put_task(80, "hog", 0, "0 0", "1-2");
	put_task(84, "hog", 0, "0 0", "1-2");
	report_make(&report, &figures, false, NULL, 0);
	check(report.victims[0].count == 4, "%zu rows", report.victims[0].count);
	check(!strcmp(report.victims[0].culprits[0].name, "hog[80] (2 threads)"), "%s",
	      report.victims[0].culprits[0].name);
	check(strstr(report.victims[0].culprits[1].name, ", woken by hog[80]"), "%s",
	      report.victims[0].culprits[1].name);
	report_free(&report);
}

/* Whoever was needed lived for a moment each time. */
static void rows_of_many_who_were_needed(void)
{
	static const u32 lock = SLEEP_LOCK << HOW_SHIFT | 203;
	struct blame_row rows[] = {
		/* before it had a name of its own */
		{ { 70, CAUSE_TASK, 91, 0, 0 }, { .who = { .tid = 91, .tgid = 91, .comm = "parent" } }, false },
		{ { 70, CAUSE_KEPT, 80, 90, 203 }, { .total = 3, .who = ordinary }, false },
		{ { 70, CAUSE_KEPT, 80, 91, 203 }, { .total = 4, .who = ordinary }, false },
		{ { 70, CAUSE_BLOCKED, 90, lock, 0 }, { .total = 2, .who = { .tid = 90, .tgid = 90, .comm = "child" } }, false },
		{ { 70, CAUSE_BLOCKED, 91, lock, 0 }, { .total = 1, .who = { .tid = 91, .tgid = 91, .comm = "child" } }, false },
	};
	struct blame_victim victim = { .id = 70, .victim = { .taken = 10, .who = victim_who } };
	struct blame_figures figures = {
		.rows = rows, .row_count = ARRAY_SIZE(rows), .victims = &victim, .victim_count = 1,
	};
	struct report report = { 0 };
	const struct culprit *kept, *blocked;

	report_make(&report, &figures, false, NULL, 0);
	check(report.victims[0].count == 4, "%zu rows", report.victims[0].count);
	kept = &report.victims[0].culprits[0];
	blocked = &report.victims[0].culprits[1];
	check(kept->row.row.total == 7 && !strcmp(kept->how, "child waited for it"), "%s", kept->how);
	check(!strcmp(kept->name, "hog[80]"), "%s", kept->name);
	check(strstr(kept->remedy, "each child, or PTHREAD_PRIO_INHERIT"), "%s", kept->remedy);
	check(blocked->row.row.total == 3 && strstr(blocked->name, "woken by child") &&
	      !strchr(blocked->name, '['), "%s", blocked->name);
	check(!strcmp(blocked->remedy, "let child hold that lock for less time"), "%s",
	      blocked->remedy);
	report_free(&report);
}

/* First those with late jobs, by priority. */
static void victims_in_order(void)
{
	struct blame_victim victims[] = {
		{ .id = 80, .victim = { .taken = 9, .who = ordinary } },
		{ .id = 84, .victim = { .taken = 5, .who = { .tid = 84, .priority = 120 } }, .jobs = { .count = 9, .late = 9 } },
		{ .id = 70, .victim = { .taken = 2, .who = victim_who }, .jobs = { .count = 9, .late = 2 } },
	};
	struct blame_figures figures = { .victims = victims, .victim_count = ARRAY_SIZE(victims) };
	struct report report = { 0 };

	report_make(&report, &figures, false, NULL, 0);
	check(report.victims[0].id == 70 && report.victims[1].id == 84, "%u, %u", report.victims[0].id,
	      report.victims[1].id);
	report_free(&report);
}

/* In a process of its own: what is read of a machine is kept. */
static void on(void (*machine)(void))
{
	char root[] = "/tmp/remedy-XXXXXX";
	autofree char *remove = NULL;
	autotext struct text why = { 0 };
	int status;
	pid_t pid;

	check(mkdtemp(root), "mkdtemp");
	pid = fork();
	if (!pid) {
		file_set_root(root);
		able();
		check(!symbols_read(&why), "%s", why.s);
		machine();
		exit(0);
	}
	waitpid(pid, &status, 0);
	remove = format("rm -r %s", root);
	check(!system(remove), "%s", remove);
	check(!status, "see above");
}

int main(void)
{
	on(on_an_able_machine);
	on(on_a_machine_of_real_time_tasks);
	on(on_an_unable_machine);
	on(for_what_keeps_it);
	on(in_the_same_process);
	on(on_a_single_cpu);
	on(where_it_is_isolated);
	on(where_it_may_not_run);
	on(where_memory_is_limited);
	on(where_nobody_balances);
	on(where_users_name_groups);
	on(victims_in_order);
	on(rows_of_a_process);
	on(rows_of_many_who_were_needed);
	on(devices);
	return 0;
}
