// SPDX-License-Identifier: GPL-2.0-or-later
#include "cause.h"
#include "isolate/isolation.h"
#include "lib/file.h"
#include "lib/kernel.h"
#include "lib/machine.h"
#include "lib/task.h"
#include "lib/timers.h"
#include "symbols.h"

#include <sys/syscall.h>

#define NETWORK "/sys/class/net"

/* Read once. */
static struct {
	bool read, open, nohz_full, rcu_nocbs;
	struct isolation isolation;
	int shield;			/* as timers_get() */
	bool asked, pinned;		/* pinned: are all real-time tasks, once asked */
} machine;

static const struct isolation *read_machine(void)
{
	if (!machine.read) {
		machine.read = true;
		machine.nohz_full = kernel_has("CONFIG_NO_HZ_FULL");
		machine.rcu_nocbs = kernel_has("CONFIG_RCU_NOCB_CPU");
		machine.shield = timers_get();
		machine.open = !isolation_open(&machine.isolation, false);
	}
	return &machine.isolation;
}

void remedy_free(void)
{
	if (machine.open)
		isolation_close(&machine.isolation);
	memset(&machine, 0, sizeof(machine));
}

static bool is_alone(void)
{
	return !machine.open || cpus_count(&machine.isolation.machine.online) < 2;
}

static char *isolate(unsigned int cpu)
{
	const struct isolation *isolation = read_machine();

	if (is_alone() || !isolation->mount || cpus_has(&isolation->isolated, cpu))
		return NULL;
	return format("timershield isolate %u", cpu);
}

/* The kernel refuses any affinity of a managed one, before it looks at what is written. */
static bool is_managed(u32 irq)
{
	autofree char *path = format("/proc/irq/%u/smp_affinity_list", irq);
	int ret = file_write(path, "?");

	return ret == -EIO || ret == -EPERM;
}

static char *isolate_from_irqs(unsigned int cpu)
{
	const struct isolation *isolation = read_machine();

	if (is_alone() || cpus_has(&isolation->irqs, cpu))
		return NULL;
	return format("timershield isolate --irqs %u", cpu);
}

static char *boot_with(bool possible, const char *option, unsigned int cpu)
{
	return possible ? format("boot with %s%u", option, cpu) : NULL;
}

/* To the other CPUs: a real-time task of a higher level has its place there on purpose. */
static char *give_way(const struct blame_victim *victim, const struct blame_row *row,
		      unsigned int cpu, const char *else_do)
{
	const struct task_info *culprit = task_info_of(&row->row.who);
	struct cpus own = { 0 }, others;
	autofree char *list = NULL;

	if (is_alone() || !culprit->process || culprit->kernel_thread)
		return NULL;
	cpus_add(&own, cpu);
	others = cpus_and_not(&machine.isolation.machine.online, &own);
	list = cpus_list(&others);
	/* not the victim with it */
	if (culprit->process == task_info_of(&victim->victim.who)->process)
		return format("taskset -pc %s %u%s", list, row->cause.id, else_do);
	return format("taskset -apc %s %u%s", list, culprit->process, else_do);
}

/* Another CPU on which the victim may run, where nobody would move it to one. */
static bool find_unbalanced(const struct blame_victim *victim, unsigned int *other)
{
	struct cpus cpus;

	if (!machine.open || victim->id & VICTIM_CPU ||
	    !cpus_has(&machine.isolation.isolated, victim->victim.cpu))
		return false;
	cpus = cpus_and(&task_info_of(&victim->victim.who)->cpus, &machine.isolation.isolated);
	cpus_for_each(cpu, &cpus)
		if (cpu != victim->victim.cpu)
			*other = cpu;
	return cpus_count(&cpus) > 1;
}

bool remedy_unbalanced(const struct blame_victim *victim, const struct blame_row *row)
{
	unsigned int other;

	read_machine();
	return victim->victim.who.priority >= 100 && row->row.who.priority >= 100 && row->cause.id &&
	       !task_info_of(&row->row.who)->kernel_thread && find_unbalanced(victim, &other);
}

/* Among ordinary tasks niceness counts only within a cgroup, or a session. */
static char *for_ordinary(const struct blame_victim *victim, const struct task_info *culprit)
{
	const struct task_info *task = task_info_of(&victim->victim.who);
	unsigned int other;

	/* the same for each of two threads, or they would meet again on that CPU */
	if (find_unbalanced(victim, &other))
		return format("taskset -pc %u %u", other, culprit->process == task->process &&
			      culprit->tid > victim->id ? culprit->tid : victim->id);
	if (task->unit && culprit->unit && strcmp(task->unit, culprit->unit))
		return format("chrt -f -p 1 %u, or raise cpu.weight of its cgroup", victim->id);
	if (task->session && culprit->session && strcmp(task->session, culprit->session) &&
	    file_has("/proc/sys/kernel/sched_autogroup_enabled", "1"))
		return format("echo -19 >/proc/%u/autogroup, or chrt -f -p 1 %u", victim->id, victim->id);
	return format("renice -n -19 -p %u, or chrt -f -p 1 %u", victim->id, victim->id);
}

/* A task that is not preempted in the kernel stays there for as long as its system call takes. */
static bool may_become_preemptible(void)
{
	return file_has("/sys/kernel/debug/sched/preempt", "(none)") ||
	       file_has("/sys/kernel/debug/sched/preempt", "(voluntary)");
}

static char *for_task(const struct blame_victim *victim, const struct blame_row *row,
		      unsigned int cpu)
{
	const struct task_info *culprit = task_info_of(&row->row.who);
	bool outranks = row->row.who.priority < 100 &&
			row->row.who.priority <= victim->victim.who.priority;
	char *remedy;

	read_machine();
	if (!row->cause.id || row->cause.id == victim->id || task_info_is_own(culprit))
		return NULL;
	if (culprit->kernel_thread && !strncmp(culprit->comm, "rcu", 3))
		return boot_with(machine.rcu_nocbs, "rcu_nocbs=", cpu);
	if (culprit->kernel_thread && !strncmp(culprit->comm, "irq/", 4))
		return isolate_from_irqs(cpu);
	if (culprit->kernel_thread && strncmp(culprit->comm, "kworker/u", 9) &&
	    strncmp(culprit->comm, "napi/", 5))
		return NULL;
	if (row->row.who.priority < 0)
		return format("chrt -f -p 1 %u, if it needs no deadline", row->cause.id);
	if (outranks)
		return give_way(victim, row, cpu, ", or lower its priority");
	if (row->cause.kind == CAUSE_TASK && row->row.stack && may_become_preemptible())
		return copy("boot with preempt=full");
	if (victim->victim.who.priority >= 100 && !(victim->id & VICTIM_CPU))
		return for_ordinary(victim, culprit);
	remedy = isolate(cpu);
	return remedy ? remedy : give_way(victim, row, cpu, "");
}

/* Else levels would make some wake up later. */
static bool all_are_pinned(void)
{
	autotasks struct tasks tasks = { 0 };

	if (!machine.asked)
		machine.pinned = !tasks_read(&tasks) && !tasks_unpinned(&tasks);
	machine.asked = true;
	return machine.pinned;
}

static char *for_timer(const struct blame_victim *victim, const struct blame_row *row,
		       enum masked masked, unsigned int cpu)
{
	bool levels = masked == MASKED_LEVELS;
	int shield;

	read_machine();
	shield = machine.shield;
	if (row->cause.how >> HOW_SHIFT == HOW_PERF)
		return row->cause.id ? format("end %u, or let it sample less often (perf record -F)",
					      row->cause.id) : NULL;
	if (levels ? shield != TIMERS_LEVELS && all_are_pinned() :
	    masked == MASKED_YES && shield <= 0) {
		if (shield >= 0 || timers_module_there())
			return copy(levels ? "timershield timers levels" : "timershield timers on");
		if (timers_module_possible())
			return copy("load the TimerShield module ('make module' in its source)");
	}
	return for_task(victim, row, cpu);
}

/* Where receive packet steering sends packets there. */
static char *for_steering(unsigned int cpu)
{
	autonames struct names queues = { 0 };

	file_glob(STEERING_FILES, &queues);
	for (size_t i = 0; i < queues.count; i++) {
		autotext struct text mask = { 0 };
		struct cpus cpus;

		if (!file_read_line(queues.items[i], &mask) &&
		    !cpus_parse_mask(&cpus, mask.s) && cpus_has(&cpus, cpu))
			return format("take CPU %u out of %s", cpu, queues.items[i]);
	}
	return NULL;
}

/* Else a task there sends them to a local receiver. */
static char *for_backlog(unsigned int cpu)
{
	char *remedy = for_steering(cpu);

	return remedy ? remedy : isolate(cpu);
}

/* Users name cgroups: NULL if a name is no text for a terminal, or for the shell in quotes. */
static char *echo(const char *value, const char *path)
{
	autofree char *shown = copy(path);

	make_printable(shown);
	return strcmp(shown, path) || strchr(path, '\'') ? NULL :
	       format("echo %s >'%s'", value, path);
}

static char *raise_quota(const char *file)
{
	char *remedy = file ? echo("max", file) : NULL;

	return remedy ? remedy : copy("raise the CPU quota of its cgroup");
}

/*
 * A card is polled where its interrupt comes, or in a thread of its own; a virtual device where
 * somebody sends to it.
 */
static char *for_device(const struct who *who, unsigned int cpu)
{
	autofree char *path = format(NETWORK "/%.*s", COMM_SIZE, who->comm);
	autofree char *card = format("%s/device", path), *thread = format("%s/threaded", path);
	char *remedy = file_exists(card) ? isolate_from_irqs(cpu) : isolate(cpu);

	return remedy || !file_exists(card) || !file_has(thread, "0") ? remedy :
	       echo("1", thread);
}

static char *for_softirq(const struct blame_row *row, unsigned int cpu)
{
	switch (row->cause.id) {
	case SOFTIRQ_NET_RX:
		return row->cause.how == NO_DEVICE ? for_backlog(cpu) :
		       row->cause.how ? for_device(&row->row.who, cpu) : isolate_from_irqs(cpu);
	case SOFTIRQ_RCU:
		read_machine();
		return boot_with(machine.rcu_nocbs, "rcu_nocbs=", cpu);
	case SOFTIRQ_SCHED:
		return isolate(cpu);
	case SOFTIRQ_TIMER:
	case SOFTIRQ_HRTIMER:
		return NULL;
	default:
		return isolate_from_irqs(cpu);
	}
}

static char *stop_fair_server(unsigned int cpu)
{
	if (!fair_server_can_stop())
		return copy("let it sleep for longer (before Linux 7.0 the kernel warns when the fair server is stopped)");
	return format("echo 0 >" FAIR_SERVER "/cpu%u/runtime", cpu);
}

static char *for_throttle(const struct blame_row *row, unsigned int cpu)
{
	const struct task_info *victim = task_info_of(&row->row.who);

	autofree char *stop = stop_fair_server(cpu);

	switch (cause_throttle(row->cause.id)) {
	case THROTTLE_EITHER:
		return format("sysctl kernel.sched_rt_runtime_us=-1; %s", stop);
	case THROTTLE_RT:
		return copy("sysctl kernel.sched_rt_runtime_us=-1");
	case THROTTLE_SERVER:
		return copy(stop);
	case THROTTLE_QUOTA:
		return raise_quota(victim->quota);
	default:
		return copy("give it more time (chrt --sched-runtime)");
	}
}

static char *for_ipi(const struct blame_victim *victim, const struct blame_row *row,
		     unsigned int cpu)
{
	const char *function = symbol_name(row->cause.function);
	const struct task_info *sender = task_info_of(&row->row.who);

	if (cause_is_tlb(row->cause.function) && row->row.who.tid &&
	    sender->process == task_info_of(&victim->victim.who)->process)
		return copy("lock its memory; no munmap() or mprotect() in its other threads");
	return function && !strcmp(function, "rps_trigger_softirq") ? for_steering(cpu) : NULL;
}

/*
 * It waited for one of a lower level: the owner of a lock, who wakes it, or a thread of the kernel. The
 * priority of a worker does not last: any worker may do its work the next time.
 */
static char *for_kept(const struct blame_victim *victim, const struct blame_row *row, unsigned int cpu)
{
	const struct who waiter = { .tid = row->cause.how };
	const struct task_info *waits = task_info_of(&waiter);
	const int above = row->row.who.priority < 100 ? 99 - row->row.who.priority + 1 : 1;
	const bool mutex = (row->cause.function & 0xffff) == SYS_futex + 1 && !(row->cause.function >> 63);
	autofree char *whom = row->several ? format("each %s", waits->comm) : format("%u", waiter.tid);
	autofree char *raise = row->several ? format("a real-time priority for %s", whom) :
					      format("chrt -f -p %d %s", above, whom);

	read_machine();
	if (waits->kernel_thread && !strncmp(waits->comm, "kworker/", 8))
		return give_way(victim, row, cpu, "");
	if (mutex && !waits->kernel_thread)
		return above < 99 ? format("%s, or PTHREAD_PRIO_INHERIT if that holds its mutex", raise) :
				    copy("a mutex with PTHREAD_PRIO_INHERIT");
	return above < 99 ? copy(raise) : give_way(victim, row, cpu, ", or lower its priority");
}

/* What is locked is copied nevertheless, once its process has forked. */
static char *for_fault(const struct blame_victim *victim, const struct blame_row *row)
{
	const struct task_info *task = task_info_of(&victim->victim.who);

	/* those before its first job made none late */
	if (victim->jobs.count && !row->cause.id)
		return NULL;
	if (task->locked)
		return copy(victim->victim.forked ? "posix_spawn() in place of fork(), and MCL_FUTURE" :
			    "mlockall() with MCL_FUTURE");
	return copy(task->may_not_lock ?
		    "ulimit -l unlimited, then mlockall(MCL_CURRENT | MCL_FUTURE), and MAP_POPULATE" :
		    "mlockall(MCL_CURRENT | MCL_FUTURE), and MAP_POPULATE");
}

static char *for_blocked(const struct blame_row *row)
{
	const char *memory = cause_memory(&row->cause);
	autofree char *name = row->cause.id ? who_text(&row->row.who) : copy("whoever has it");

	if (row->several)
		name[strcspn(name, "[")] = '\0';
	switch (row->cause.how >> HOW_SHIFT) {
	case SLEEP_LOCK:
		return format("let %s hold that lock for less time", name);
	case SLEEP_WAIT:
		return NULL;
	case SLEEP_STOPPED:
		return copy("send it no SIGSTOP");
	case SLEEP_TRACED:
		return format("kill %u, which traces it", row->cause.id);
	case SLEEP_FROZEN:
		return copy("leave cgroup.freeze of its cgroup at 0");
	default:
		if (memory)
			return echo("max", memory);
		return row->cause.how & 0xffff ? copy("leave that system call to another thread") : NULL;
	}
}

char *remedy_for(const struct blame_victim *victim, const struct blame_row *row,
		 enum masked masked)
{
	unsigned int cpu = victim->id & VICTIM_CPU ? victim->id & ~VICTIM_CPU :
			   victim->victim.cpu;

	switch (row->cause.kind) {
	case CAUSE_TIMER:
		return for_timer(victim, row, masked, cpu);
	case CAUSE_TASK:
	case CAUSE_WORK:
		return for_task(victim, row, cpu);
	case CAUSE_KERNEL_TIMER:
		read_machine();
		return boot_with(machine.nohz_full && cause_is_tick(row->cause.function),
				 "nohz_full=", cpu);
	case CAUSE_IRQ:
		read_machine();
		return is_managed(row->cause.id) ? boot_with(true, "isolcpus=managed_irq,domain,", cpu) :
		       isolate_from_irqs(cpu);
	case CAUSE_IRQS_OFF:
		return for_task(victim, row, cpu);
	case CAUSE_KEPT:
		return for_kept(victim, row, cpu);
	case CAUSE_BLOCKED:
		return for_blocked(row);
	case CAUSE_FAULT:
		return for_fault(victim, row);
	case CAUSE_SLACK:
		return copy("prctl(PR_SET_TIMERSLACK, 1), or a real-time priority");
	case CAUSE_IPI:
		return for_ipi(victim, row, cpu);
	case CAUSE_SOFTIRQ:
		return for_softirq(row, cpu);
	case CAUSE_THROTTLED:
		return for_throttle(row, cpu);
	case CAUSE_ELSEWHERE:
		return format("taskset -pc %u %u", cpu, victim->id);
	default:
		return NULL;
	}
}
