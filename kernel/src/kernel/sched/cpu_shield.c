// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shielded CPUs: what is shielded, and tasks. Interrupts are in
 * kernel/irq/cpu_shield.c, /proc/shield in kernel/sched/cpu_shield_proc.c.
 *
 * After: S. Brosky, "Shielded CPUs: Real-Time Performance in Standard Linux",
 * Linux Journal, 2004.
 *
 * Every change of a task's affinity ends in set_cpus_allowed_common(), whoever
 * asked for it: sched_setaffinity(), a cpuset, kthread_bind(), a CPU that goes.
 * The shield is a filter behind that point. p->cpus_unshielded has the result
 * of all that; p->cpus_mask, which the scheduler obeys, has the same without the
 * shielded CPUs, unless no active CPU would remain:
 *
 *	cpus_mask = cpus_unshielded & ~cpu_shield_procs, or
 *	cpus_mask = cpus_unshielded if that has no active CPU
 *
 * So nothing that was asked for is ever lost. When the shield changes, or CPUs
 * come and go, cpus_mask is worked out anew for each task. What the scheduler
 * needs on a CPU is bound to that CPU alone and hence not touched. SCHED_DEADLINE
 * tasks were admitted for all CPUs of their root domain, and stay.
 *
 * The masks are read without a lock, by whoever holds a task's pi_lock or an
 * interrupt descriptor's lock. A writer changes the mask first and then goes
 * through all tasks or descriptors, taking these locks; whoever has worked with
 * the old mask, or with half of the new one, did so before, and is put right.
 * A task that is being forked is seen by this walk or sees the new mask in
 * cpu_shield_post_fork(), for it becomes visible before it looks.
 *
 * Locks, outermost first:
 *
 *	cpu_hotplug_lock	for reading by those who write to /proc/shield,
 *				for writing by CPU hotplug
 *	  cpu_shield_mutex	one write at a time; not taken by CPU hotplug
 *	    tasklist_lock	to collect tasks, not while they are moved
 *	      p->pi_lock
 *	        rq->lock
 *	    sparse_irq_lock
 *	      desc->lock
 *
 * To move a running task is to wait for its CPU's stopper and for the end of its
 * migrate_disable() section, as in every change of an affinity, cpuset's with
 * the same outer lock included.
 */
#include <linux/cpu_shield.h>
#include <linux/mmu_context.h>

#include "sched.h"

/* Tasks whose mask is to be worked out anew; so many at a time */
#define CPU_SHIELD_BATCH 32

DEFINE_STATIC_KEY_FALSE(cpu_shield_used);

struct cpumask cpu_shield_procs __read_mostly;
struct cpumask cpu_shield_irqs __read_mostly;

/* Whether the shielded CPUs are to be taken from @mask */
static bool cpu_shield_applies(struct task_struct *p, const struct cpumask *mask)
{
	unsigned int cpu;

	if (!static_branch_unlikely(&cpu_shield_used))
		return false;
	if (task_has_dl_policy(p) && dl_bandwidth_enabled())
		return false;

	/* is_cpu_allowed() refuses kernel threads a CPU that goes, still active or not */
	for_each_cpu_andnot(cpu, mask, &cpu_shield_procs) {
		if (cpu_active(cpu) && !cpu_dying(cpu))
			return true;
	}
	return false;
}

void cpu_shield_strip(struct task_struct *p)
{
	cpumask_copy(&p->cpus_unshielded, &p->cpus_mask);
	if (!cpu_shield_applies(p, &p->cpus_unshielded))
		return;

	cpumask_andnot(&p->cpus_mask, &p->cpus_mask, &cpu_shield_procs);
	p->nr_cpus_allowed = cpumask_weight(&p->cpus_mask);
}

bool cpu_shield_mask_equal(struct task_struct *p, const struct cpumask *new_mask)
{
	if (!cpumask_equal(&p->cpus_unshielded, new_mask))
		return false;
	if (!cpu_shield_applies(p, new_mask))
		return cpumask_equal(&p->cpus_mask, new_mask);

	return cpumask_subset(&p->cpus_mask, new_mask) &&
	       !cpumask_intersects(&p->cpus_mask, &cpu_shield_procs) &&
	       cpumask_weight(&p->cpus_mask) ==
	       cpumask_weight_andnot(new_mask, &cpu_shield_procs);
}

unsigned int cpu_shield_dest(struct task_struct *p, unsigned int dest_cpu,
			     const struct cpumask *valid)
{
	unsigned int cpu;

	if (cpumask_test_cpu(dest_cpu, &p->cpus_mask))
		return dest_cpu;

	/* None only if a CPU goes just now, and that pushes its tasks away */
	cpu = cpumask_any_and_distribute(valid, &p->cpus_mask);
	return cpu < nr_cpu_ids ? cpu : dest_cpu;
}

int cpu_shield_may_set(struct task_struct *p, const struct cpumask *new_mask)
{
	unsigned int cpu;

	if (!static_branch_unlikely(&cpu_shield_used) || cpu_shield_applies(p, new_mask))
		return 0;

	for_each_cpu_and(cpu, new_mask, &cpu_shield_procs) {
		if (!cpumask_test_cpu(cpu, &p->cpus_mask))
			return capable(CAP_SYS_NICE) ? 0 : -EPERM;
	}
	return 0;
}

int cpu_shield_may_set_cpuset(const struct cpumask *old_mask,
			      const struct cpumask *new_mask)
{
	if (!static_branch_unlikely(&cpu_shield_used) || cpumask_empty(new_mask) ||
	    !cpumask_subset(new_mask, &cpu_shield_procs))
		return 0;
	/* It had them alone before */
	if (cpumask_subset(old_mask, &cpu_shield_procs) && cpumask_subset(new_mask, old_mask))
		return 0;

	return capable(CAP_SYS_NICE) ? 0 : -EPERM;
}

/*
 * Whether @p has another mask than it should have. One whose CPUs have all gone
 * cannot be given any, but will when it wakes.
 */
static bool cpu_shield_stale(struct task_struct *p)
{
	unsigned long flags;
	bool stale;

	raw_spin_lock_irqsave(&p->pi_lock, flags);
	stale = cpumask_intersects(&p->cpus_unshielded, cpu_active_mask) &&
		!cpu_shield_mask_equal(p, &p->cpus_unshielded);
	raw_spin_unlock_irqrestore(&p->pi_lock, flags);
	return stale;
}

static unsigned int cpu_shield_collect(struct task_struct **batch)
{
	struct task_struct *g, *t;
	unsigned int n = 0;

	/* Not RCU: a thread that calls execve() must not be missed */
	read_lock(&tasklist_lock);
	for_each_process_thread(g, t) {
		if (!cpu_shield_stale(t))
			continue;
		batch[n++] = get_task_struct(t);
		if (n == CPU_SHIELD_BATCH)
			goto full;
	}
full:
	read_unlock(&tasklist_lock);
	return n;
}

/*
 * Until none is left: only a look at all tasks that finds nothing shows that
 * none was missed. A task that was collected is right afterwards, so that only
 * new changes, by others, make another round.
 */
void cpu_shield_update_tasks(void)
{
	struct task_struct *batch[CPU_SHIELD_BATCH];
	unsigned int i, n;

	lockdep_assert_cpus_held();
	do {
		n = cpu_shield_collect(batch);
		for (i = 0; i < n; i++) {
			cpu_shield_update_task(batch[i]);
			put_task_struct(batch[i]);
		}
		cond_resched();
	} while (n);
}

void cpu_shield_post_fork(struct task_struct *p)
{
	if (static_branch_unlikely(&cpu_shield_used) && cpu_shield_stale(p))
		cpu_shield_update_task(p);
}

void cpu_shield_policy_changed(struct task_struct *p, int oldprio)
{
	if (static_branch_unlikely(&cpu_shield_used) && dl_prio(oldprio))
		cpu_shield_update_task(p);
}

void cpu_shield_hotplug(void)
{
	if (!static_branch_unlikely(&cpu_shield_used))
		return;

	cpu_shield_update_tasks();
	cpu_shield_update_irqs();
}
