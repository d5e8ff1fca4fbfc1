/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What blame's accounting keeps: shared by the BPF program, which adds up in the kernel,
 * and by the command.
 */
#ifndef TIMERSHIELD_BLAME_TYPES_H
#define TIMERSHIELD_BLAME_TYPES_H

#ifndef __bpf__
#include <stdint.h>
typedef uint64_t u64;
typedef uint32_t u32;
typedef int32_t s32;
#endif

#define COMM_SIZE 16
#define MAX_DEPTH 8			/* a power of 2 */
#define RECENT_SEGMENTS 512		/* a power of 2 */
#define EPISODE_SEGMENTS 128
#define FLUSH_SEGMENTS 32
#define OWNED_FUNCTIONS 16
#define MAX_ROWS 32768
#define MAX_VICTIMS 1024
#define LIMITED 8			/* a power of 2 */
#define MAX_TARGETS 4096
#define MAX_ARMED 16384
#define MAX_WORKS 1024
#define MAX_STACKS 1024
#define MAX_LINKS 4096			/* a power of 2 */
#define VECTORS 16			/* of softirqs; a power of 2 */
#define JOB_CLASSES 128			/* of the length of jobs: four for each power of 2 */
#define RELEASES 2			/* so often in the same call: its jobs begin there */
#define STRANGE_RELEASES 8		/* in other calls: they began there */
#define EPISODE_GAP_NS 2000		/* shorter stretches of a victim do not end an episode */

#define SWITCH_AT_MOST_NS 20000		/* from an interrupt's end to the switch */
#define IRQS_OFF_NS 20000		/* a timer interrupt that comes later was kept away */
#define STAY_NS 100000			/* a ready real-time task waits so long only for a reason */
#define STACK_DEPTH 32

#define IS_KTHREAD 0x00200000u		/* PF_KTHREAD */
#define IS_KWORKER 0x00000020u		/* PF_WQ_WORKER */

struct who {
	u32 tid, tgid;
	s32 priority;			/* as the kernel counts: -1 deadline, 0 to 99, 100 and up */
	u32 policy;
	char comm[COMM_SIZE];
};

enum cause_kind {
	CAUSE_NONE,
	CAUSE_TASK,			/* id: thread */
	CAUSE_WORK,			/* id: thread of the worker; function */
	CAUSE_TIMER,			/* a task's timer; id: owner, 0 if not known; how; function */
	CAUSE_KERNEL_TIMER,		/* function; the tick is one of them */
	CAUSE_WHEEL,			/* function; id 1: that of the work that it queues */
	CAUSE_TIMER_IRQ,		/* a timer interrupt that expired nothing; how: that came late */
	CAUSE_IRQ,			/* id: number */
	CAUSE_IPI,			/* id: enum ipi */
	CAUSE_SOFTIRQ,			/* id: vector; how: of NET_RX, the device that was polled */
	CAUSE_ELSEWHERE,		/* waited on a run queue from which it was moved */
	CAUSE_SWITCH,			/* switching tasks, by calibration */
	CAUSE_THROTTLED,		/* id: enum throttle; how: 0, or the thread that the victim needs */
	CAUSE_IRQS_OFF,			/* id: thread that kept the victim's timer from expiring */
	CAUSE_KEPT,			/* id: what ran while thread HOW, which the victim needs, was ready;
					 * function: the work that this one does, or how the victim slept */
	CAUSE_BLOCKED,			/* id: thread that woke it, 0: an interrupt; how: as of a sleep;
					 * function: 0, or the thread that slept, which the victim needs */
	CAUSE_FAULT,			/* a page fault of its own; id: 1 in a job */
	CAUSE_SIGNAL,			/* a handler of its own; id: the signal; how: enum signalled_by */
	CAUSE_SLACK,			/* its timer had that much time */
	CAUSE_SLEPT,			/* how; not taken, but in the heading */
	CAUSE_STEAL,			/* added by the command */
	CAUSE_KINDS
};

/* How a task's timer was armed; in the lower 16 bits of cause.how the system call + 1. */
enum how {
	HOW_SLEEP = 1, HOW_TIMERFD, HOW_POSIX, HOW_ITIMER, HOW_ALARM, HOW_IO_URING,
	/* the shield does not mask these */
	HOW_GUEST, HOW_TIMEOUT, HOW_PERF
};

#define HOW_SHIFT 16

/* How it slept; in the lower 16 bits of cause.how the system call + 1, 0 for none. */
#define CALL_UNKNOWN 0xffffu
enum sleep { SLEEP_MEANT, SLEEP_WAIT /* inside a job */, SLEEP_LOCK, SLEEP_DEEP, SLEEP_STOPPED, SLEEP_TRACED, SLEEP_FROZEN };

/* Of futex(). */
enum { OP_WAIT, OP_LOCK_PI = 6, OP_WAIT_BITSET = 9, OP_LOCK_PI2 = 13 };

/* Of the kernel's states, those that sched_switch tells. */
enum {
	STATE_DEEP = 0x2, STATE_STOPPED = 0x4, STATE_TRACED = 0x8, STATE_DEAD = 0xb0,
	STATE_IDLE = 0x400, STATE_RTLOCK = 0x1000
};

#define NET_RX 3
#define NO_DEVICE 0xffffffffu		/* polled was what devices without polling, or RPS, queued */

/* Why the scheduler passed over a task that was ready and of the highest level. */
enum throttle {
	THROTTLE_EITHER = 1,		/* real-time throttling or the fair server */
	THROTTLE_RT,
	THROTTLE_SERVER,
	THROTTLE_DEADLINE,		/* its own budget is used up */
	THROTTLE_QUOTA,			/* that of its cgroup */
};

enum ipi {
	IPI_TIMER, IPI_RESCHEDULE, IPI_CALL, IPI_CALL_SINGLE, IPI_IRQ_WORK, IPI_PLATFORM,
	IPI_THERMAL, IPI_THRESHOLD, IPI_DEFERRED_ERROR, IPI_ERROR, IPI_SPURIOUS, IPI_OTHER,
	IPI_KINDS
};

/* Also the key of a row; victim is 0 elsewhere. */
struct cause {
	u32 victim;
	u32 kind, id, how;		/* how, of an IPI: the thread that sent it */
	u64 function;
};

struct row {
	u64 count, total, longest;
	struct who who;
	u32 stack, unused;		/* of what kept the CPU, + 1; 0: none */
};

#define BASE_IDLE 1000

/* How it came that a task was chosen. */
enum chosen { CHOSEN_BY_SERVER = 1, CHOSEN_WITH_QUOTA = 2 };	/* 2: it had had none left */

/* What a CPU did for a while. */
struct segment {
	u64 start, end;
	struct cause cause;
	struct who who;
	u64 picked;			/* when the scheduler chose the task; 0: not known */
	u64 ready;			/* that task had waited since then; 0: not known */
	u32 task;
	s32 base;			/* that task's priority, or BASE_IDLE */
	u32 first;			/* of an event, not its continuation */
	u32 chosen;			/* enum chosen, as far as is known */
};

/* Who woke a thread last: of those with the same last bits the one that was woken last. */
struct link {
	struct who waker;		/* tid 0: an interrupt */
	u64 at;
	u32 tid, cpu;
};

/* Of a victim that its own timer releases again and again, or that says itself where a job begins. */
struct jobs {
	u64 count, late;
	u64 longest, longest_own, longest_waited;	/* from when it was due; the parts of that one */
	u64 own, least, most;		/* its own work: sum, and of a job */
	u64 due, period;		/* of the last one; the shortest time between two */
	u32 classes[JOB_CLASSES];	/* of its own work */
};

enum signalled_by { SIGNALLED, SIGNALLED_BY_ITSELF, SIGNALLED_BY_TIMER, SIGNALLED_BY_ITIMER };

/* CPUs are victims too: this bit and the CPU's number. */
#define VICTIM_CPU 0x80000000u

struct victim {
	u64 ran, taken, longest, episodes, over;
	u64 since;			/* it waits to run since then, or should have run */
	u64 blamed;			/* the wait until then is in rows */
	u64 ready;			/* on a run queue since then, in this wait */
	u64 task;			/* its task_struct */
	s32 priority;			/* when this wait began */
	u32 throttled;			/* enum throttle, as far as is known */
	u32 counted;			/* enum throttle of the row in which this wait counts */
	u64 throttled_for;		/* of this wait */
	u64 slept;			/* it sleeps since then; 0: it does not, or not known */
	u32 sleep, unused;		/* how, as of CAUSE_SLEPT */
	u32 queued, cpu;		/* queued: enum queued */
	s32 highest;			/* priority that it had */
	u32 forked;			/* a child that has copies of its pages */
	u64 waited;			/* part of taken: in waits of its own */
	u64 call, release;		/* of its last sleep, and of that in which jobs begin: call and argument */
	u64 woken;			/* from its last sleep on purpose, or its timer was due; when it had */
	u64 woken_ran, woken_waited;
	u64 due;			/* a job began then; 0: it is in none */
	u32 releases, strange;		/* by its timer in that call, and since then in others */
	u32 told, told_late;		/* it says itself where jobs begin; that this one is late */
	u32 released_by, handlers;	/* released_by: enum how */
	u64 handler_ran;		/* what it had run when the first of its signal handlers began */
	u32 handler_id, handler_how;
	struct who who;
};

enum frame_kind { FRAME_TASK, FRAME_VECTOR, FRAME_IRQ, FRAME_SOFTIRQ, FRAME_TIMER, FRAME_FAULT };
enum owner_source { OWNER_NONE, OWNER_ARMED, OWNER_WOKEN, OWNER_SIGNALLED };

struct frame {
	struct cause cause;
	struct who who;
	u32 kind;			/* enum frame_kind */
	u32 named;			/* its first event is known */
	u32 counted;
	u32 owner;			/* enum owner_source */
	u64 due, slack;			/* of a task's timer: when it was, and its slack; 0: not known */
};

struct episode {
	u64 length, start, end;
	u32 victim, count;
	struct segment segments[EPISODE_SEGMENTS];	/* newest first */
};

/* Of the victim that is woken. */
struct lateness {
	struct cause cause;		/* CAUSE_BLOCKED: not late; for what is nobody else's */
	struct who waker, first;	/* tid 0: an interrupt; first: who wakes the victim itself */
	u64 since, slack;		/* slack: until when its timer might expire */
	u64 own;			/* time for the row of CAUSE */
	u64 ready;			/* the waker waited for the CPU since then */
	struct cause kept;		/* what kept it last, at a stretch, and for how long */
	struct who kept_who;
	u64 kept_time, needed;		/* needed: as cause.function of CAUSE_KEPT */
	u32 victim, soft, stack;
	u32 meant;			/* the sleep was: late is what kept the waker */
	u32 chosen;			/* how the waker was, when it had waited */
	u32 links, on;			/* so many more to its waker's waker; the CPU of this one */
	u32 needs, unused;		/* whom the waker woke; 0: the victim itself */
	u64 until;			/* it ran there until then */
};

struct cpu {
	u64 last;			/* accounted until then */
	u64 left;			/* when an interrupt or softirq ended last */
	u64 entered;			/* when one interrupted a task last */
	u64 picked;			/* when the scheduler chose what runs; 0: not known */
	u64 ready;			/* what runs had waited since then; 0: not known */
	u64 events;
	u64 call;			/* in which whoever left it sleeps; the stack has no room */
	u64 expired;			/* the timer that one of two programs has taken */
	u64 episode_start, episode_end;
	u32 depth, victim, kernel_thread, known;
	u32 over, head, flushed, number;
	u32 episode_victim, chosen;
	u32 waiting, below;		/* the victim that may wait here for long, and another one */
	s32 waiting_priority, below_priority;
	u32 nr_limited, unused;
	u32 limited[LIMITED];		/* victims that wait here for their quota; 0: free */
	u32 without_quota[LIMITED];	/* whoever left the CPU for that, by the number's last bits */
	struct who raised[VECTORS];	/* who raised a softirq last; tid 0: an interrupt */
	struct frame frames[MAX_DEPTH];
	struct lateness late;
	struct segment recent[RECENT_SEGMENTS];
	struct episode episode;		/* the worst that has ended */
};

struct armed {
	struct who who;
};

enum queued { NOT_QUEUED, WOKEN, PREEMPTED, RUNNING };

enum victims_are { VICTIMS_TARGETS, VICTIMS_ALL, VICTIMS_CPUS };

struct blame_config {
	u64 owned[OWNED_FUNCTIONS];	/* callbacks of tasks' timers */
	u32 owned_how[OWNED_FUNCTIONS];
	u64 interrupt_overhead, switch_overhead, fault_overhead;	/* ns that no event covers */
	u32 futex, locks[4];		/* system calls that wait for locks */
	u32 writes[4];			/* and for room, where somebody reads late */
	u64 over;			/* ns; 0: not wanted */
	u64 started;			/* when it was switched on */
	u32 victims_are, on;
	u32 realtime_kernel, unused;	/* PREEMPT_RT */
	u32 self;			/* this process, which is not a victim unless asked for */
	u32 cpu_limited, realtime;	/* realtime: victims only while they are real-time tasks */
	u64 cpus[128];			/* if cpu_limited: of which victims are looked at */
};

struct blame_lost {
	u64 rows, victims, targets;
};

#endif
