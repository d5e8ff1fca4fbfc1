// SPDX-License-Identifier: GPL-2.0-only
/*
 * TimerShield: who runs when the current task blocks, and who has to rank anew
 */
#include <linux/irq_work.h>
#include <linux/llist.h>
#include <linux/mmu_context.h>
#include <linux/timershield.h>

#include "sched.h"

static void wake_pollers(struct irq_work *work);

/* Tasks that poll, and have to rank their timers again */
static DEFINE_PER_CPU(struct llist_head, pollers);
static DEFINE_PER_CPU(struct irq_work, pollers_work) = IRQ_WORK_INIT_HARD(wake_pollers);

static void wake_pollers(struct irq_work *work)
{
	struct task_struct *p, *next;

	llist_for_each_entry_safe(p, next, llist_del_all(this_cpu_ptr(&pollers)),
				  timershield_wake) {
		/* From here on it can be listed again. */
		smp_store_release(&p->timershield_waking, false);
		if (READ_ONCE(p->timershield_polls))
			wake_up_state(p, TASK_INTERRUPTIBLE);
		put_task_struct(p);
	}
}

/**
 * timershield_wake_poller - the level of a task that polls has risen
 * @p: the task, which is to be woken
 *
 * Context: pi_lock of @p and its runqueue are locked, so by an interrupt.
 */
void timershield_wake_poller(struct task_struct *p)
{
	/* Pairs with wake_pollers() */
	if (smp_load_acquire(&p->timershield_waking))
		return;
	p->timershield_waking = true;
	get_task_struct(p);
	if (llist_add(&p->timershield_wake, this_cpu_ptr(&pollers)))
		irq_work_queue(this_cpu_ptr(&pollers_work));
}

/**
 * timershield_follow_all - the shield has been switched on
 *
 * Meanwhile tasks that sleep were changed, or began to wait for timers, without
 * these following them.
 *
 * Context: process. Takes a time proportional to the number of threads.
 */
void timershield_follow_all(void)
{
	struct task_struct *g, *p;

	rcu_read_lock();
	for_each_process_thread(g, p) {
		struct hrtimer *timer;
		struct rq_flags rf;
		struct rq *rq;

		if (!READ_ONCE(p->timershield_timer))
			continue;
		/* The timer cannot vanish, see there. */
		rq = task_rq_lock(p, &rf);
		timer = READ_ONCE(p->timershield_timer);
		if (timer && !task_current(rq, p))
			timershield_update(timer, p);
		task_rq_unlock(rq, p, &rf);
	}
	rcu_read_unlock();
}

/* The level of the first real-time task from priority @first on */
static u8 rt_level(struct rq *rq, int first)
{
	int prio = find_next_bit(rq->rt.active.bitmap, MAX_RT_PRIO, first);

	return prio < MAX_RT_PRIO ? TIMERSHIELD_LEVEL_RT + MAX_RT_PRIO - 1 - prio :
				    TIMERSHIELD_LEVEL_NONE;
}

static u8 rt_next_level(struct rq *rq, struct task_struct *curr)
{
	/* The current task is queued as long as it runs; it does not count. */
	if (rt_task(curr) && list_is_singular(&rq->rt.active.queue[curr->prio]))
		return rt_level(rq, curr->prio + 1);
	return rt_level(rq, 0);
}

static u8 fair_next_level(struct rq *rq, struct task_struct *curr)
{
	bool is_fair = fair_policy(curr->policy) || idle_policy(curr->policy);
	unsigned int others = rq->cfs.h_nr_runnable - (is_fair && !rt_or_dl_prio(curr->prio));
	unsigned int idlers = rq->cfs.idle_h_nr_running;

	if (!others)
		return TIMERSHIELD_LEVEL_NONE;
	return others > idlers ? TIMERSHIELD_LEVEL_FAIR : TIMERSHIELD_LEVEL_IDLE;
}

/**
 * timershield_next_level - the level of the task that would run if the current
 *			    one blocked now
 *
 * Looked up without the lock of the runqueue, so it may be wrong when another
 * CPU changes it: __schedule() sets the threshold by the task that it picks.
 *
 * Context: interrupts are disabled, the current task is about to block.
 */
u8 timershield_next_level(void)
{
	struct rq *rq = this_rq();
	u8 level;

	/* One of the timers that are being served was its own: it goes on. */
	if (!READ_ONCE(rq->curr->__state))
		return timershield_task_level(rq->curr);

	if (rq->dl.dl_nr_running || scx_enabled() || is_idle_task(rq->curr))
		return TIMERSHIELD_LEVEL_CRITICAL;

	level = rt_next_level(rq, rq->curr);
	return level ?: fair_next_level(rq, rq->curr);
}

/**
 * timershield_queued_level - the level of the highest-ranking task that is about to run
 *
 * Looked up without the lock of the runqueue, like timershield_next_level().
 *
 * Context: interrupts are disabled.
 *
 * Return: TIMERSHIELD_LEVEL_NONE if there are ordinary tasks only.
 */
u8 timershield_queued_level(void)
{
	struct rq *rq = this_rq();

	return rq->dl.dl_nr_running ? TIMERSHIELD_LEVEL_DEADLINE : rt_level(rq, 0);
}
