/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TIMERSHIELD_SHIELD_H
#define TIMERSHIELD_SHIELD_H

#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "bases.h"

/* One CPU's shield. Written by its CPU with interrupts disabled. */
struct shield {
	struct shield_bases *bases;
	struct hrtimer_cpu_base *stock;
	struct timershield_minima minima;	/* protected by the lock of the bases */
	struct hrtimer proxy;	/* in the kernel's queues, in place of all timers in ours */
	ktime_t armed;		/* what the proxy is set for; KTIME_MAX: nothing */
	u8 threshold;		/* timers below this level are masked */
	bool on;
	bool returned;		/* the kernel has got a timer back and does not know it */
	bool bypass;		/* what starts now is for the kernel */
	ktime_t fell;		/* when the threshold fell: what expired before has been held */
	ktime_t served;		/* when a masked timer, or an ordinary task's, was expired last */
	ktime_t woken;		/* since when somebody who may be real-time is about to run; 0: nobody */
	ktime_t after;		/* nothing expires before, while an ordinary task runs */
	struct hrtimer *hrtick;	/* on 7.x, ends an ordinary task's turn; NULL: not seen yet */
	call_single_data_t kick;
};

DECLARE_PER_CPU(struct shield, shields);

/* kernel.timershield */
enum shield_mode { SHIELD_OFF, SHIELD_CLASSES, SHIELD_LEVELS };

/* Timers from this level on are left to the kernel. With levels no task has it. */
extern u8 shield_ceiling;

/* Acquires the queues of all levels below. */
static inline bool shield_never_masks(u8 level)
{
	return level >= smp_load_acquire(&shield_ceiling);
}

/* A task's level. One that inherits a priority has it. */
static inline u8 shield_level(const struct task_struct *task)
{
	return timershield_prio_level(READ_ONCE(task->prio));
}

/* May there be timers in a CPU's queues? The last may have left without telling. */
static inline bool shield_empty(const struct shield *shield)
{
	return minima_all(&shield->minima) == KTIME_MAX;
}

/* By CLOCK_MONOTONIC. The kernel keeps the offset up to date, also when a clock is set. */
static inline ktime_t queue_expiry(const struct hrtimer_clock_base *queue, ktime_t expires)
{
	const struct hrtimer_cpu_base *stock = per_cpu_ptr(timershield_stock, queue->cpu_base->cpu);

	return ktime_sub(expires, READ_ONCE(stock->clock_base[queue->index].offset));
}

static inline ktime_t timer_expiry(const struct hrtimer *timer)
{
	return queue_expiry(timer->base, timer->node.expires);
}

static inline u8 queue_level(const struct hrtimer_clock_base *queue)
{
	return container_of(queue - queue->index, struct shield_level, queue[0])->level;
}

/* events.c: the kernel's own events of a timer; @value: its mode, or the time of its clock */
enum { TRACE_START, TRACE_EXPIRE_ENTRY, TRACE_EXPIRE_EXIT, TRACE_SWITCH };
int events_resolve(void);
struct tracepoint *event_tracepoint(int event);
void trace_timer(int event, struct hrtimer *timer, s64 value);

/* queue.c; with the lock of the bases held, but for the last three */
void queue_add(struct hrtimer_clock_base *queue, struct hrtimer *timer);
void queue_del(struct hrtimer_clock_base *queue, struct hrtimer *timer);
struct hrtimer *queue_first(struct shield *shield, u8 level);
void queue_correct(struct shield *shield, u8 level);
void queues_clock_set(struct shield *shield);
bool queues_drain(struct shield *shield);
int queue_release(struct hrtimer *timer, u8 level);

/* expire.c */
void shield_setup(struct shield *shield, int cpu);
bool shield_start(struct shield *shield, struct hrtimer *timer, u8 level, ktime_t time,
		  u64 slack, enum hrtimer_mode mode);
void shield_switch(struct shield *shield, const struct task_struct *task);
u8 shield_masks(const struct shield *shield, const struct task_struct *task);
void shield_kick(int cpu);
void shield_choose(enum shield_mode mode);
int shield_up(unsigned int cpu);
int shield_down(unsigned int cpu);

/* symbols.c: where a function of the kernel is */
struct symbol {
	const char *name;
	void *address;		/* NULL: the kernel does not have it */
};

void symbols_find(struct symbol *symbols, unsigned int nr);

/* hooks.c */
int hooks_resolve(void);
void hooks_release(void);
int hooks_add(void);
void hooks_remove(bool all);
int switch_probe_add(void);
void switch_probe_remove(void);

#endif
