/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TIMERSHIELD_SHIELD_H
#define TIMERSHIELD_SHIELD_H

#include <linux/sched.h>
#include <linux/sched/prio.h>
#include <linux/smp.h>

#include "bases.h"

/* Callbacks that run in one go with interrupts disabled. */
#define SHIELD_BATCH	8
/* Between two goes the CPU runs for so long: ns. */
#define SHIELD_GAP	2000LL
/* ... and if it has to reschedule, until it has, or for so long. */
#define SHIELD_YIELD	100000LL

/* Where a timer expires; the kernel's order: four clocks of each. */
enum shield_context { SHIELD_HARD, SHIELD_SOFT, SHIELD_CONTEXTS };

/* As in the kernel part's struct timershield_cpu. */
struct shield_counters {
	u64 masked;
	u64 released;
	u64 interrupts;
	u64 longest;
};

/*
 * One CPU's shield. Written by its CPU with interrupts disabled; what the locks of the queues
 * protect is in struct shield_bases.
 */
struct shield {
	struct shield_bases *bases;
	struct hrtimer_cpu_base *stock;
	/* In the kernel's queues, in place of all timers in ours. */
	struct hrtimer proxy[SHIELD_CONTEXTS];
	ktime_t armed[SHIELD_CONTEXTS];		/* KTIME_MAX: not */
	bool on;
	bool empty;		/* no timer in our queues */
	bool yields;		/* to a task that was woken, until the next switch */
	bool bypass;		/* what starts now is for the kernel */
	int level;		/* of the task that runs: what is below is masked */
	ktime_t fallen;		/* when that level fell last */
	ktime_t held;		/* when a masked timer was expired last, or the first was masked */
	ktime_t clock_set;	/* when a clock was set last, so that timers expired by that */
	call_single_data_t kick;
	struct shield_counters counters;
};

DECLARE_PER_CPU(struct shield, shields);

/* A task's level: SHIELD_LEVELS for a deadline task. One that inherits a priority has it. */
static inline int shield_rank(const struct task_struct *task)
{
	int prio = READ_ONCE(task->prio);

	if (prio >= MAX_RT_PRIO)
		return 0;
	return prio < 0 ? SHIELD_LEVELS : MAX_RT_PRIO - 1 - prio;
}

/*
 * What a task masks while it runs. Kernel threads mask nothing: one of them, ktimers, is what
 * expires timers on PREEMPT_RT.
 */
static inline int shield_masks(const struct task_struct *task)
{
	return task->flags & PF_KTHREAD ? 0 : shield_rank(task);
}

/*
 * One more than the highest level that was seen to wait for this timer, or 0: in a byte of
 * struct hrtimer that is padding. hrtimer_setup() clears it.
 */
static_assert(offsetofend(struct hrtimer, TIMER_LAST_MEMBER) % sizeof(long) != 0,
	      "struct hrtimer has no byte to spare");

static inline u8 *shield_raised(struct hrtimer *timer)
{
	return (u8 *)timer + offsetofend(struct hrtimer, TIMER_LAST_MEMBER);
}

/* queue.c */
bool shield_start(struct shield *shield, struct hrtimer *timer, int level, ktime_t time,
		  u64 slack, enum hrtimer_mode mode);
void shield_move(struct hrtimer *timer, int level);

/* expire.c */
void shield_setup(struct shield *shield, int cpu);
void shield_arm(struct shield *shield, enum shield_context context, ktime_t expires);
void shield_switch(struct shield *shield, int level);
void shield_kick(int cpu);
int shield_up(unsigned int cpu);
int shield_down(unsigned int cpu);

/* hooks.c: the kernel's own events of a timer; @value: its mode, or the time of its clock */
enum { TRACE_START, TRACE_EXPIRE_ENTRY, TRACE_EXPIRE_EXIT };
void trace_timer(int event, struct hrtimer *timer, s64 value);
int hooks_resolve(void);
void hooks_release(void);
int hooks_add(void);
void hooks_remove(void);
int switch_probe_add(void);
void switch_probe_remove(void);

#endif
