// SPDX-License-Identifier: GPL-2.0-or-later
/* What blame advises, on machines that differ in what they can do: directories, as --root takes them. */
#include "blame/cause.h"
#include "blame/remedy.h"
#include "blame/symbols.h"
#include "check.h"
#include "lib/file.h"
#include "lib/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK 0xffffffff81000010ull
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
	advises_for("raise cpu.max of its cgroup", CAUSE_THROTTLED, THROTTLE_QUOTA);
	put("proc/sys/kernel/timershield", "1\n");
	advises_for_timer("timershield isolate 1");
}

/* No cpusets, no shield, and nothing of the kernel's that a command line could switch on. */
static void on_an_unable_machine(void)
{
	autofree char *switch_file = file_path("/proc/sys/kernel/timershield");

	unlink(switch_file);
	put(CGROUP "/cgroup.controllers", "cpu\n");
	put("lib/modules/6.12.1/config", "CONFIG_HZ=250\n");
	advises_for_task(NULL, &ordinary);
	advises_for_task("taskset -apc 0,2-3 81, or lower its priority", &higher);
	advises_for("timershield isolate --irqs 1", CAUSE_IRQ, 9);
	advises_for(NULL, CAUSE_KERNEL_TIMER, 0);
	advises_for(NULL, CAUSE_SOFTIRQ, SOFTIRQ_RCU);
	advises_for_timer("load the TimerShield module ('make module' in its source)");
	put("proc/sys/kernel/osrelease", "6.18.1\n");
	advises_for_timer(NULL);
	put("lib/modules/6.18.1/modules.dep", "extra/timershield.ko:\n");
	advises_for_timer("timershield timers on");
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
	advises_for_task(NULL, &ordinary);
	advises_for("timershield isolate --irqs 1", CAUSE_IRQ, 9);
}

/* What a victim may not use is given to it by a setting, and by no isolation. */
static void where_it_may_not_run(void)
{
	put("proc/70/task/70/stat", "70 (loop) S 1 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 123"
	    " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 50 1\n");
	put("proc/70/status", "Name:\tloop\nTgid:\t70\n");
	put("proc/70/cgroup", "0::/web.slice/loop.service\n");
	put(CGROUP "/web.slice/loop.service/cpu.max", "max 100000\n");
	put(CGROUP "/web.slice/cpu.max", "20000 100000\n");
	advises_for("echo max >/sys/fs/cgroup/web.slice/cpu.max", CAUSE_THROTTLED, THROTTLE_QUOTA);
	advises_for("let it sleep for longer (before Linux 7.0 the kernel warns when the fair server is stopped)",
		    CAUSE_THROTTLED, THROTTLE_SERVER);
	put("proc/sys/kernel/osrelease", "7.3.1\n");
	advises_for("echo 0 >/sys/kernel/debug/sched/fair_server/cpu1/runtime", CAUSE_THROTTLED,
		    THROTTLE_SERVER);
}

static void where_throttling_is(void)
{
	put("proc/sys/kernel/osrelease", "6.1.1\n");
	advises_for("sysctl kernel.sched_rt_runtime_us=-1", CAUSE_THROTTLED, THROTTLE_RT);
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
	on(on_an_unable_machine);
	on(on_a_single_cpu);
	on(where_it_is_isolated);
	on(where_it_may_not_run);
	on(where_throttling_is);
	return 0;
}
