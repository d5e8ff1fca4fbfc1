// SPDX-License-Identifier: GPL-2.0-or-later
/* What takes time, by name. */
#include "cause.h"

#include "lib/file.h"
#include "lib/kernel.h"
#include "lib/machine.h"
#include "lib/task.h"
#include "lib/unseen.h"
#include "symbols.h"

#include <sched.h>
#include <asm/unistd.h>

/* Of this machine's system calls, from its <asm/unistd.h>. */
static const char * const calls[] = {
#include "calls.h"
};

static const char * const ways[] = {
	[HOW_SLEEP] = "sleep", [HOW_TIMERFD] = "timerfd", [HOW_POSIX] = "POSIX timer",
	[HOW_ITIMER] = "itimer", [HOW_ALARM] = "alarm timer", [HOW_IO_URING] = "io_uring timeout",
	[HOW_GUEST] = "timer of the guest", [HOW_TIMEOUT] = "timeout", [HOW_PERF] = "perf's samples",
};

static const char * const ipis[IPI_KINDS] = {
	[IPI_TIMER] = "timer", [IPI_RESCHEDULE] = "reschedule",
	[IPI_CALL] = "function call (several CPUs)", [IPI_CALL_SINGLE] = "function call",
	[IPI_IRQ_WORK] = "irq_work", [IPI_PLATFORM] = "platform", [IPI_THERMAL] = "thermal event",
	[IPI_THRESHOLD] = "threshold", [IPI_DEFERRED_ERROR] = "deferred error",
	[IPI_ERROR] = "APIC error", [IPI_SPURIOUS] = "spurious", [IPI_OTHER] = "IPI",
};

static const char * const softirqs[] = {
	"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER",
	"RCU",
};

const char *cause_kind(u32 kind)
{
	static const char * const kinds[CAUSE_KINDS] = {
		[CAUSE_NONE] = "unexplained", [CAUSE_TASK] = "task", [CAUSE_WORK] = "work",
		[CAUSE_TIMER] = "timer", [CAUSE_KERNEL_TIMER] = "kernel-timer",
		[CAUSE_WHEEL] = "wheel-timer", [CAUSE_TIMER_IRQ] = "timer-interrupt",
		[CAUSE_IRQ] = "interrupt", [CAUSE_IPI] = "ipi", [CAUSE_SOFTIRQ] = "softirq",
		[CAUSE_ELSEWHERE] = "other-cpu", [CAUSE_SWITCH] = "switch",
		[CAUSE_THROTTLED] = "throttled", [CAUSE_IRQS_OFF] = "irqs-off",
		[CAUSE_KEPT] = "kept", [CAUSE_BLOCKED] = "blocked", [CAUSE_FAULT] = "page-fault",
		[CAUSE_SIGNAL] = "signal", [CAUSE_SLACK] = "slack", [CAUSE_SLEPT] = "slept", [CAUSE_STEAL] = "steal",
	};

	return kind < CAUSE_KINDS ? kinds[kind] : kinds[CAUSE_NONE];
}

bool cause_is_tick(u64 function)
{
	const char *name = symbol_name(function);

	return name && (!strcmp(name, "tick_nohz_handler") || !strcmp(name, "tick_sched_timer"));
}

bool cause_is_tlb(u64 function)
{
	const char *name = symbol_name(function);

	return name && (!strncmp(name, "flush_tlb", 9) || !strcmp(name, "do_flush_tlb_all") ||
			!strcmp(name, "do_kernel_range_flush"));
}

/* Linux 6.12 brought the server in place of throttling, but for groups of real-time tasks. */
u32 cause_throttle(u32 why)
{
	long long runtime = 0;

	if (why != THROTTLE_EITHER)
		return why;
	if (!machine_linux_since(6, 12))
		return THROTTLE_RT;
	file_read_number("/proc/sys/kernel/sched_rt_runtime_us", &runtime);
	return runtime < 0 || !kernel_has("CONFIG_RT_GROUP_SCHED") ? THROTTLE_SERVER : why;
}

/* "CPU quota of /user.slice (cpu.max)" */
static char *limit_name(const char *what, const char *file)
{
	const char *group = file ? file + strlen("/sys/fs/cgroup") : NULL;
	char *name;

	if (!file)
		return format("%s of its cgroup", what);
	name = format("%s of %.*s (%s)", what, (int)(strrchr(group, '/') - group), group,
		      strrchr(group, '/') + 1);
	make_printable(name);
	return name;
}

/* The kernel puts whoever has gone beyond it to sleep, where nobody is to wake it but a timer. */
const char *cause_memory(const struct cause *cause)
{
	return cause->kind == CAUSE_BLOCKED && cause->how >> HOW_SHIFT == SLEEP_DEEP && !cause->id ?
	       task_info_of(&(struct who){ .tid = cause->victim })->memory : NULL;
}

static char *throttle_name(u32 why, const struct who *victim)
{
	switch (cause_throttle(why)) {
	case THROTTLE_SERVER:
		return copy("fair server");
	case THROTTLE_RT:
		return copy("real-time throttling");
	case THROTTLE_EITHER:
		return copy("fair server or real-time throttling");
	case THROTTLE_QUOTA:
		return limit_name("CPU quota", task_info_of(victim)->quota);
	default:
		return copy("its SCHED_DEADLINE budget is used up");
	}
}

/* "IPI: TLB shootdown from web[812]" */
static char *ipi_name(const struct cause *cause, const struct who *who)
{
	const char *function = symbol_name(cause->function);
	autofree char *sender = who->tid ? who_text(who) : copy("");

	return format("IPI: %s%s%s", cause_is_tlb(cause->function) ? "TLB shootdown" :
		      function ? function : ipis[cause->id < IPI_KINDS ? cause->id : IPI_OTHER],
		      *sender ? " from " : "", sender);
}

/* "softirq NET_RX: eth0"; what no device polls waits in a queue of the CPU. */
static char *softirq_name(const struct cause *cause, const struct who *who)
{
	const char *vector = cause->id < ARRAY_SIZE(softirqs) ? softirqs[cause->id] : "?";
	autofree char *device = format("%.*s", COMM_SIZE, who->comm);

	make_printable(device);
	if (cause->how == NO_DEVICE)
		return format("softirq %s: backlog (lo, veth, RPS)", vector);
	return format("softirq %s%s%s", vector, cause->how ? ": " : "", cause->how ? device : "");
}

char *level_text(const struct who *who)
{
	const struct task_info *person = task_info_of(who);
	int priority = who->priority;

	if (priority < 0)
		return copy("DEADLINE");
	if (priority < 100)
		return format("%s %d", person->policy == SCHED_RR ? "RR" : "FIFO", 99 - priority);
	switch (person->policy) {
	case SCHED_BATCH:
		return copy("BATCH");
	case SCHED_IDLE:
		return copy("IDLE");
	case 7:
		return copy("EXT");
	default:
		return copy("OTHER");
	}
}

/* SEVERAL have this name: without the number of one. */
static char *name_of(const struct who *who, bool several)
{
	const struct task_info *person = task_info_of(who);
	const bool thread = person->process && person->process != person->tid &&
			    person->process_comm[0] && strcmp(person->comm, person->process_comm);
	autofree char *number = several ? copy("") : format("[%u]", person->tid);

	return format("%s%s%s%s", thread ? person->process_comm : "", thread ? "/" : "", person->comm,
		      number);
}

char *who_text(const struct who *who)
{
	return name_of(who, false);
}

/* The name in its line of /proc/interrupts: the last word. */
static char *interrupt_name(u32 number)
{
	autofree char *source = format("%u", number), *line = NULL;
	autotext struct text text = { 0 };
	const char *counters;
	char *name;

	file_read("/proc/interrupts", &text);
	counters = unseen_counters(text.s, source);
	line = format("%.*s", (int)strcspn(counters, "\n"), counters);
	name = copy(strrchr(line, ' ') ? strrchr(line, ' ') + 1 : "");
	make_printable(name);
	return name;
}

static const char *call_name(u32 call)
{
	return call && call <= ARRAY_SIZE(calls) ? calls[call - 1] : NULL;
}

u32 cause_needs(const struct cause *cause)
{
	if (cause->kind == CAUSE_BLOCKED)
		return (u32)cause->function;
	return cause->kind == CAUSE_KEPT || cause->kind == CAUSE_THROTTLED ? cause->how : 0;
}

char *cause_how(const struct cause *cause, bool several)
{
	u32 how = cause->how >> HOW_SHIFT, call = cause->how & 0xffff, needed = cause_needs(cause);
	const char *work = cause->kind == CAUSE_KEPT ? symbol_name(cause->function) : NULL;
	autofree char *other = NULL;

	if (cause->kind == CAUSE_IRQS_OFF)
		return copy("interrupts off");
	if (needed) {
		other = name_of(&(struct who){ .tid = needed }, several);
		return format("%s%s%s waited for it", other, work ? " with work " : "", work ? work : "");
	}
	if (cause->kind != CAUSE_TIMER || how >= ARRAY_SIZE(ways) || !ways[how])
		return copy("");
	return copy(how == HOW_SLEEP && call_name(call) ? call_name(call) : ways[how]);
}

char *sleep_text(u32 how)
{
	u32 call = how & 0xffff;

	switch (how >> HOW_SHIFT) {
	case SLEEP_STOPPED:
		return copy("stopped by a signal");
	case SLEEP_TRACED:
		return copy("stopped by its tracer");
	case SLEEP_FROZEN:
		return copy("frozen by its cgroup");
	default:
		return call_name(call) ? copy(call_name(call)) : call == CALL_UNKNOWN ?
		       copy("a system call") : call ? format("system call %u", call - 1) :
		       copy("page fault");
	}
}

/* "blocked in futex, woken by web[812]" */
static char *block_name(const struct cause *cause, const struct who *who, bool several)
{
	autofree char *waker = cause->id ? name_of(who, several) : NULL, *sleep = sleep_text(cause->how);
	const char *in = cause->how >> HOW_SHIFT < SLEEP_STOPPED ? "blocked in " : "";
	const char *memory = cause_memory(cause);

	if (memory)
		return limit_name("memory limit", memory);
	return waker ? format("%s%s, woken by %s", in, sleep, waker) :
	       format("%s%s%s", in, sleep, cause->how >> HOW_SHIFT == SLEEP_DEEP ? " (disk, or a lock of the kernel)" : "");
}

/* "signal PROF of its own interval timer" */
static char *signal_name(const struct cause *cause)
{
	static const char * const from[] = {
		[SIGNALLED] = "", [SIGNALLED_BY_ITSELF] = ", sent by itself",
		[SIGNALLED_BY_TIMER] = " of its own POSIX timer",
		[SIGNALLED_BY_ITIMER] = " of its own interval timer",
	};
	const char *name = sigabbrev_np((int)cause->id);
	autofree char *number = format("%u", cause->id);

	return format("handler of signal %s%s", name ? name : number, from[cause->how & 3]);
}

char *cause_name(const struct cause *cause, const struct who *who, bool several)
{
	const char *function = symbol_name(cause->function);
	autofree char *interrupt = NULL;

	switch (cause->kind) {
	case CAUSE_TASK:
	case CAUSE_WORK:
		if (!cause->id)
			return copy("idle: the CPU woke up");
		return who_text(who);
	case CAUSE_TIMER:
		return cause->id ? who_text(who) : copy("unknown owner");
	case CAUSE_KERNEL_TIMER:
		if (cause_is_tick(cause->function))
			return copy("tick");
		return format("kernel timer %s", function ? function : "?");
	case CAUSE_WHEEL:
		return format("kernel timer (wheel) %s%s", cause->id ? "for work " : "",
			      function ? function : "?");
	case CAUSE_TIMER_IRQ:
		return copy(cause->how ? "timer interrupt that came late" :
			    "timer interrupt that expired nothing");
	case CAUSE_IRQ:
		interrupt = interrupt_name(cause->id);
		return format("interrupt %u %s", cause->id, interrupt);
	case CAUSE_IPI:
		return ipi_name(cause, who);
	case CAUSE_SOFTIRQ:
		return softirq_name(cause, who);
	case CAUSE_ELSEWHERE:
		return copy("waited for another CPU, then was moved");
	case CAUSE_SWITCH:
		return copy("switching tasks");
	case CAUSE_THROTTLED:
		return throttle_name(cause->id, who);
	case CAUSE_IRQS_OFF:
	case CAUSE_KEPT:
		return who_text(who);
	case CAUSE_BLOCKED:
		return block_name(cause, who, several);
	case CAUSE_FAULT:
		return copy(cause->id ? "page faults of its own, in jobs" : "page faults of its own");
	case CAUSE_SIGNAL:
		return signal_name(cause);
	case CAUSE_SLACK:
		return copy("slack of its own timers");
	case CAUSE_STEAL:
		return copy("hypervisor (steal)");
	default:
		return copy("unexplained");
	}
}

char *cause_text(const struct cause *cause, const struct who *who)
{
	autofree char *name = cause_name(cause, who, false), *how = cause_how(cause, false);
	const char *function = symbol_name(cause->function);

	if (*how)
		return format("%s: %s", name, how);
	if (cause->kind == CAUSE_WORK && function)
		return format("%s: work %s", name, function);
	return copy(name);
}
