/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TIMERSHIELD_SHIELD_H
#define TIMERSHIELD_SHIELD_H

#include <linux/alarmtimer.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "bases.h"
#include "timershield_minima.h"

/* How long the CPU runs between two batches of callbacks, ns */
#define SHIELD_GAP	2000LL
/* After what time a task that has been woken runs, or does not, ns */
#define SHIELD_LOOK	50000LL
/* A switch of tasks leaves a proxy where it is that expires so much later, ns */
#define SHIELD_FAR	NSEC_PER_SEC

/* The context in which a timer expires; in the kernel's order, four clocks of each */
enum shield_context { SHIELD_HARD, SHIELD_SOFT, SHIELD_CONTEXTS };

/*
 * One CPU's shield. Written by its CPU with interrupts disabled; the lock of the bases protects
 * struct shield_bases and @core.
 */
struct shield {
	/* as in the kernel part; @core.threshold is what the CPU masks */
	struct timershield_cpu core;
	struct shield_bases *bases;
	struct hrtimer_cpu_base *stock;
	/* In the kernel's queues, in place of all timers in ours. */
	struct hrtimer proxy[SHIELD_CONTEXTS];
	ktime_t armed[SHIELD_CONTEXTS];		/* KTIME_MAX: not */
	struct hrtimer *hrtick;	/* on 7.3, ends an ordinary task's turn; NULL: not seen yet */
	bool on;
	bool raised;		/* the mask, until the next switch; the proxy sees if there is none */
	u8 left;		/* soft timers below wait for the next switch; 0: none */
	bool bypass;		/* what starts now is for the kernel */
	ktime_t held;		/* when a masked timer was expired last, or the first was masked */
	call_single_data_t kick;
};

DECLARE_PER_CPU(struct shield, shields);

/* kernel.timershield */
enum shield_mode { SHIELD_OFF, SHIELD_CLASSES, SHIELD_LEVELS };

/*
 * Timers from this level on are never masked. With two classes it is the lowest of real-time
 * tasks; with levels no task has it.
 */
extern u8 shield_ceiling;

static inline bool shield_never_masks(u8 level)
{
	return level >= READ_ONCE(shield_ceiling);
}

/* A task's level. One that inherits a priority has it. */
static inline u8 shield_level(const struct task_struct *task)
{
	return timershield_prio_level(READ_ONCE(task->prio));
}

/*
 * What a task masks while it runs. Kernel threads mask nothing: one of them, ktimers, is what
 * expires timers on PREEMPT_RT.
 */
static inline u8 shield_masks(const struct task_struct *task)
{
	return task->flags & PF_KTHREAD ? TIMERSHIELD_ORDINARY :
	       min(shield_level(task), READ_ONCE(shield_ceiling));
}

/* May there be timers in a CPU's queues? The last may have left without telling. */
static inline bool shield_empty(const struct shield *shield)
{
	return minima_all(&shield->core.minima[SHIELD_HARD]) == KTIME_MAX &&
	       minima_all(&shield->core.minima[SHIELD_SOFT]) == KTIME_MAX;
}

/*
 * The highest level that was seen to wait for this timer since it was armed, or 0: in a byte of
 * struct hrtimer that is padding. hrtimer_setup() clears it.
 */
static_assert(offsetofend(struct hrtimer, TIMER_LAST_MEMBER) % sizeof(long) != 0,
	      "struct hrtimer has no byte to spare");

static inline u8 *shield_raised(struct hrtimer *timer)
{
	return (u8 *)timer + offsetofend(struct hrtimer, TIMER_LAST_MEMBER);
}

/* events.c: the kernel's own events of a timer; @value: its mode, or the time of its clock */
enum { TRACE_START, TRACE_EXPIRE_ENTRY, TRACE_EXPIRE_EXIT, TRACE_SWITCH };
int events_resolve(void);
struct tracepoint *event_tracepoint(int event);
void trace_timer(int event, struct hrtimer *timer, s64 value);

/* queue.c */
void queues_clock_set(struct shield *shield, ktime_t now);

/* expire.c */
void shield_setup(struct shield *shield, int cpu);
void shield_arm(struct shield *shield, enum shield_context context, ktime_t expires);
void shield_switch(struct shield *shield, u8 level);
void shield_kick(int cpu);
void shield_choose(enum shield_mode mode);
int shield_up(unsigned int cpu);
int shield_down(unsigned int cpu);

/* start.c */
bool shield_start(struct shield *shield, struct hrtimer *timer, u8 level, ktime_t time,
		  u64 slack, enum hrtimer_mode mode);
void shield_move(struct hrtimer *timer, u8 level, bool sure);
bool shield_claim(struct hrtimer *timer);

/* symbols.c: where a function of the kernel is */
struct symbol {
	const char *name;
	void *address;		/* NULL: the kernel does not have it */
};

void symbols_find(struct symbol *symbols, unsigned int nr);

/*
 * The tasks that looked at a timerfd, also before it was set up anew. The timer is in a union with
 * an alarm, which is larger: they are behind it.
 */
static_assert(sizeof(struct alarm) >= sizeof(struct hrtimer) + sizeof(struct timershield_seen));

static inline struct timershield_seen *timerfd_seen(struct hrtimer *timer)
{
	return (struct timershield_seen *)(timer + 1);
}

/* expire.c: what a timerfd calls; hooks.c finds it */
extern const void *timerfd_callback;

/* hooks.c */
int hooks_resolve(void);
void hooks_release(void);
int hooks_add(void);
void hooks_remove(bool all);
int switch_probe_add(void);
void switch_probe_remove(void);

#endif
