/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shielded CPUs: CPUs that are left to the tasks and the interrupts that were
 * directed to them alone. See Documentation/admin-guide/cpu-shield.rst for what
 * that means, kernel/sched/cpu_shield.c for how it works and for the locks.
 */
#ifndef _LINUX_CPU_SHIELD_H
#define _LINUX_CPU_SHIELD_H

#include <linux/cpumask.h>
#include <linux/jump_label.h>
#include <linux/sched.h>
#include <linux/types.h>

struct seq_file;

#ifdef CONFIG_CPU_SHIELD

/* Whether any CPU is shielded, against tasks or against interrupts */
DECLARE_STATIC_KEY_FALSE(cpu_shield_used);

extern struct cpumask cpu_shield_procs;
extern struct cpumask cpu_shield_irqs;

/**
 * cpu_shield_has - whether a CPU is shielded, against tasks or against interrupts
 * @cpu: the CPU
 */
static inline bool cpu_shield_has(unsigned int cpu)
{
	return static_branch_unlikely(&cpu_shield_used) &&
	       (cpumask_test_cpu(cpu, &cpu_shield_procs) ||
		cpumask_test_cpu(cpu, &cpu_shield_irqs));
}

/*
 * Tasks. A task has two masks: cpus_unshielded is what its user, its cpuset and
 * the kernel agreed on, cpus_mask is where it may run while CPUs are shielded.
 */

/**
 * cpu_shield_asked - where a task may run while no CPU is shielded
 * @p: the task; its mask may change at any time unless its pi_lock is held
 */
static inline const struct cpumask *cpu_shield_asked(const struct task_struct *p)
{
	return &p->cpus_unshielded;
}

/**
 * cpu_shield_strip - take shielded CPUs from a task's new cpus_mask
 * @p: the task, with pi_lock and, if it is queued, its runqueue's lock held
 *
 * Remembers cpus_mask as it is. Nothing is taken if no active CPU would remain.
 */
void cpu_shield_strip(struct task_struct *p);

/**
 * cpu_shield_mask_equal - whether setting a mask would change nothing
 * @p: the task, with pi_lock held
 * @new_mask: the mask, with the shielded CPUs in it
 */
bool cpu_shield_mask_equal(struct task_struct *p, const struct cpumask *new_mask);

/**
 * cpu_shield_dest - a CPU to move a task to, after its mask was set
 * @p: the task, with pi_lock held
 * @dest_cpu: a CPU of the mask that was asked for
 * @valid: the CPUs that can be moved to
 *
 * Return: @dest_cpu unless it is shielded from @p.
 */
unsigned int cpu_shield_dest(struct task_struct *p, unsigned int dest_cpu,
			     const struct cpumask *valid);

/**
 * cpu_shield_may_set - whether the caller may set a mask that a user asks for
 * @p: the task whose mask it will be
 * @new_mask: the mask, within the task's cpuset
 *
 * Return: 0, or -EPERM if the task would get a shielded CPU that it does not
 * have and the caller lacks CAP_SYS_NICE in the initial user namespace.
 */
int cpu_shield_may_set(struct task_struct *p, const struct cpumask *new_mask);

/**
 * cpu_shield_may_set_cpuset - whether the caller may give a cpuset these CPUs
 * @old_mask: what the cpuset has
 * @new_mask: what is to be written
 *
 * Return: 0, or -EPERM if the cpuset would have shielded CPUs alone, did not
 * have these alone before, and the caller lacks CAP_SYS_NICE.
 */
int cpu_shield_may_set_cpuset(const struct cpumask *old_mask,
			      const struct cpumask *new_mask);

/**
 * cpu_shield_post_fork - apply a shield that changed while a task was forked
 * @p: the new task, visible but not yet woken
 */
void cpu_shield_post_fork(struct task_struct *p);

/**
 * cpu_shield_policy_changed - apply the shield to a task that has left
 * SCHED_DEADLINE
 * @p: the task, no locks held
 * @oldprio: its priority before
 */
void cpu_shield_policy_changed(struct task_struct *p, int oldprio);

/**
 * cpu_shield_hotplug - apply the shield anew after a CPU came or goes
 *
 * Context: cpu_hotplug_lock held for writing.
 */
void cpu_shield_hotplug(void);

/* Work out every task's mask anew. Context: cpu_hotplug_lock held. */
void cpu_shield_update_tasks(void);

/* In kernel/sched/core.c: what needs that file's static functions */
void cpu_shield_update_task(struct task_struct *p);

/*
 * Interrupts. The affinity that a descriptor has is what was asked for; only
 * what the controller is told lacks the shielded CPUs.
 */

/**
 * cpu_shield_irq_affinity - take shielded CPUs from an interrupt's affinity
 * @mask: what was asked for
 * @tmp: where to put the result; may be @mask
 *
 * Return: @tmp, or @mask if nothing is to be taken or no online CPU would
 * remain.
 */
const struct cpumask *cpu_shield_irq_affinity(const struct cpumask *mask,
					      struct cpumask *tmp);

/* Move every interrupt to where it may go now. Context: may sleep. */
void cpu_shield_update_irqs(void);

/* Write a line to /proc/shield/report for each interrupt that stays */
void cpu_shield_report_irqs(struct seq_file *m);

#else /* !CONFIG_CPU_SHIELD */

static inline bool cpu_shield_has(unsigned int cpu)
{
	return false;
}

static inline void cpu_shield_strip(struct task_struct *p) { }

static inline bool cpu_shield_mask_equal(struct task_struct *p,
					 const struct cpumask *new_mask)
{
	return cpumask_equal(&p->cpus_mask, new_mask);
}

static inline unsigned int cpu_shield_dest(struct task_struct *p, unsigned int dest_cpu,
					   const struct cpumask *valid)
{
	return dest_cpu;
}

static inline int cpu_shield_may_set(struct task_struct *p, const struct cpumask *new_mask)
{
	return 0;
}

static inline int cpu_shield_may_set_cpuset(const struct cpumask *old_mask,
					    const struct cpumask *new_mask)
{
	return 0;
}

static inline const struct cpumask *cpu_shield_asked(const struct task_struct *p)
{
	return p->cpus_ptr;
}

static inline void cpu_shield_post_fork(struct task_struct *p) { }
static inline void cpu_shield_policy_changed(struct task_struct *p, int oldprio) { }
static inline void cpu_shield_hotplug(void) { }

static inline const struct cpumask *cpu_shield_irq_affinity(const struct cpumask *mask,
							    struct cpumask *tmp)
{
	return mask;
}

#endif /* CONFIG_CPU_SHIELD */

#endif /* _LINUX_CPU_SHIELD_H */
