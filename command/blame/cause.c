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
#include <sys/syscall.h>

static const struct {
	long number;
	const char *name;
} calls[] = {
	{ SYS_clock_nanosleep, "clock_nanosleep" }, { SYS_nanosleep, "nanosleep" },
	{ SYS_futex, "futex" }, { SYS_ppoll, "ppoll" }, { SYS_pselect6, "pselect" },
	{ SYS_epoll_pwait, "epoll_wait" }, { SYS_rt_sigtimedwait, "sigtimedwait" },
	{ SYS_mq_timedreceive, "mq_timedreceive" }, { SYS_mq_timedsend, "mq_timedsend" },
	{ SYS_semtimedop, "semtimedop" }, { SYS_io_uring_enter, "io_uring_enter" },
	{ SYS_io_getevents, "io_getevents" }, { 441, "epoll_wait" }, { 449, "futex_waitv" },
	{ 455, "futex_wait" }, { 333, "io_pgetevents" }, { SYS_read, "read" },
	{ SYS_write, "write" }, { SYS_fsync, "fsync" }, { SYS_fdatasync, "fdatasync" },
	{ SYS_flock, "flock" }, { SYS_fcntl, "fcntl" }, { SYS_semop, "semop" },
	{ SYS_wait4, "wait4" }, { SYS_waitid, "waitid" }, { SYS_recvmsg, "recvmsg" },
	{ SYS_recvfrom, "recvfrom" }, { SYS_rt_sigsuspend, "sigsuspend" },
	{ SYS_openat, "openat" }, { SYS_execve, "execve" }, { SYS_munmap, "munmap" },
	{ SYS_mmap, "mmap" }, { SYS_exit_group, "exit" }, { SYS_exit, "exit" },
	{ SYS_sched_yield, "sched_yield" }, { SYS_clone, "clone" }, { SYS_ioctl, "ioctl" },
	{ SYS_sendto, "sendto" }, { SYS_sendmsg, "sendmsg" }, { SYS_connect, "connect" },
	{ SYS_writev, "writev" }, { SYS_readv, "readv" }, { SYS_pwrite64, "pwrite" },
	{ SYS_pread64, "pread" }, { SYS_close, "close" }, { SYS_ftruncate, "ftruncate" },
	{ SYS_renameat2, "rename" }, { SYS_unlinkat, "unlink" }, { SYS_msync, "msync" },
	{ SYS_mprotect, "mprotect" }, { SYS_madvise, "madvise" }, { SYS_brk, "brk" },
	{ SYS_newfstatat, "stat" }, { SYS_getdents64, "getdents" }, { 435, "clone" },
	{ SYS_msgsnd, "msgsnd" }, { SYS_membarrier, "membarrier" }, { SYS_sendfile, "sendfile" },
	{ SYS_sched_setaffinity, "sched_setaffinity" }, { SYS_sched_setscheduler, "sched_setscheduler" },
#ifdef SYS_poll
	{ SYS_open, "open" }, { SYS_stat, "stat" }, { SYS_unlink, "unlink" }, { SYS_vfork, "vfork" },
	{ SYS_rename, "rename" }, { SYS_renameat, "rename" }, { SYS_mkdir, "mkdir" },
	{ SYS_poll, "poll" }, { SYS_select, "select" }, { SYS_epoll_wait, "epoll_wait" },
#endif
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
		[CAUSE_SLACK] = "slack", [CAUSE_SLEPT] = "slept", [CAUSE_STEAL] = "steal",
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
static char *quota_name(const char *file)
{
	const char *group = file ? file + strlen("/sys/fs/cgroup") : NULL;

	if (!file)
		return copy("CPU quota of its cgroup");
	if (!strncmp(group, "/cpu/", 5))	/* cgroup v1 */
		group += strlen("/cpu");
	return format("CPU quota of %.*s (%s)", (int)(strrchr(group, '/') - group), group,
		      strrchr(group, '/') + 1);
}

/* With RT_GROUP_SCHED a group has a budget of its own, less than the machine's; cgroup v1 alone shows it. */
static char *budget_name(const struct task_info *task)
{
	const char *group = task->old ? task->group : "";
	autofree char *file = format("/sys/fs/cgroup/cpu%s/cpu.rt_runtime_us", group);

	return strlen(group) > 1 && file_exists(file) ?
	       format("real-time throttling of %s (cpu.rt_runtime_us)", group) :
	       copy("real-time throttling");
}

static char *throttle_name(u32 why, const struct who *victim)
{
	const struct task_info *task = task_info_of(victim);
	char *name;

	switch (cause_throttle(why)) {
	case THROTTLE_SERVER:
		return copy("fair server");
	case THROTTLE_RT:
		name = budget_name(task);
		make_printable(name);
		return name;
	case THROTTLE_EITHER:
		return copy("fair server or real-time throttling");
	case THROTTLE_QUOTA:
		name = quota_name(task->quota);
		make_printable(name);
		return name;
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

char *who_text(const struct who *who)
{
	const struct task_info *person = task_info_of(who);

	if (!person->process || person->process == person->tid ||
	    !strcmp(person->comm, person->process_comm) || !person->process_comm[0])
		return format("%s[%u]", person->comm, person->tid);
	return format("%s/%s[%u]", person->process_comm, person->comm, person->tid);
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
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (call && calls[i].number == (long)call - 1)
			return calls[i].name;
	return NULL;
}

char *cause_how(const struct cause *cause)
{
	u32 how = cause->how >> HOW_SHIFT, call = cause->how & 0xffff, needed = 0;
	autofree char *other = NULL;

	if (cause->kind == CAUSE_IRQS_OFF)
		return copy("interrupts off");
	if (cause->kind == CAUSE_BLOCKED)
		needed = (u32)cause->function;
	else if (cause->kind == CAUSE_KEPT || cause->kind == CAUSE_THROTTLED)
		needed = cause->how;
	if (needed) {
		other = who_text(&(struct who){ .tid = needed });
		return format("%s waited for it", other);
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
static char *block_name(const struct cause *cause, const struct who *who)
{
	autofree char *waker = cause->id ? who_text(who) : NULL, *sleep = sleep_text(cause->how);
	const char *in = cause->how >> HOW_SHIFT < SLEEP_STOPPED ? "blocked in " : "";

	return waker ? format("%s%s, woken by %s", in, sleep, waker) :
	       format("%s%s%s", in, sleep, cause->how >> HOW_SHIFT == SLEEP_DEEP ? " (disk, or a lock of the kernel)" : "");
}

char *cause_name(const struct cause *cause, const struct who *who)
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
		return block_name(cause, who);
	case CAUSE_FAULT:
		return copy("page faults of its own");
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
	autofree char *name = cause_name(cause, who), *how = cause_how(cause);
	const char *function = symbol_name(cause->function);

	if (*how)
		return format("%s: %s", name, how);
	if (cause->kind == CAUSE_WORK && function)
		return format("%s: work %s", name, function);
	return copy(name);
}
