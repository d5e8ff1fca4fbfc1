// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shielded CPUs: interrupts
 *
 * Every change of an interrupt's affinity ends in irq_do_set_affinity(). There
 * the shielded CPUs are taken from what the interrupt controller is told, not
 * from what the descriptor remembers: /proc/irq/N/smp_affinity goes on showing
 * what was asked for, effective_affinity what came of it. See
 * kernel/sched/cpu_shield.c for the locks.
 */
#include <linux/cpu_shield.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/seq_file.h>

#include "internals.h"

const struct cpumask *cpu_shield_irq_affinity(const struct cpumask *mask,
					      struct cpumask *tmp)
{
	unsigned int cpu;

	if (!static_branch_unlikely(&cpu_shield_used))
		return mask;

	for_each_cpu_andnot(cpu, mask, &cpu_shield_irqs) {
		if (cpu_online(cpu)) {
			cpumask_andnot(tmp, mask, &cpu_shield_irqs);
			return tmp;
		}
	}
	return mask;
}

/* Where the controller sends it; what was asked for if it does not say */
static const struct cpumask *irq_targets(struct irq_data *data)
{
	const struct cpumask *mask = irq_data_get_effective_affinity_mask(data);

	return cpumask_empty(mask) ? irq_data_get_affinity_mask(data) : mask;
}

static bool irq_is_movable(struct irq_data *data)
{
	return irqd_can_balance(data) && data->chip && data->chip->irq_set_affinity;
}

/* Whether the controller would be told something else now; @wanted is scratch */
static bool irq_is_misplaced(struct irq_data *data, struct cpumask *wanted)
{
	const struct cpumask *targets = irq_targets(data);

	cpumask_and(wanted, irq_data_get_affinity_mask(data), cpu_online_mask);
	cpumask_copy(wanted, cpu_shield_irq_affinity(wanted, wanted));
	if (irqd_is_single_target(data))
		return !cpumask_subset(targets, wanted);
	return !cpumask_equal(targets, wanted);
}

static void irq_apply_shield(struct irq_desc *desc, struct cpumask *scratch)
{
	struct irq_data *data = irq_desc_get_irq_data(desc);
	bool set_by_user = irqd_has_set(data, IRQD_AFFINITY_SET);

	/* If it is to move already, irq_do_set_affinity() will be asked then */
	if (!irqd_is_started(data) || !irq_is_movable(data) || irq_move_pending(data) ||
	    !irq_is_misplaced(data, scratch))
		return;

	irq_set_affinity_locked(data, irq_data_get_affinity_mask(data), false);
	if (!set_by_user)
		irqd_clear(data, IRQD_AFFINITY_SET);
}

void cpu_shield_update_irqs(void)
{
	cpumask_var_t scratch;
	unsigned int irq;

	/* No interrupt is left behind for want of memory */
	if (!alloc_cpumask_var(&scratch, GFP_KERNEL | __GFP_NOFAIL))
		return;

	irq_lock_sparse();
	for_each_active_irq(irq) {
		struct irq_desc *desc = irq_to_desc(irq);

		raw_spin_lock_irq(&desc->lock);
		irq_apply_shield(desc, scratch);
		raw_spin_unlock_irq(&desc->lock);
	}
	irq_unlock_sparse();
	free_cpumask_var(scratch);
}

static const char *irq_stays_reason(struct irq_data *data)
{
	if (irqd_is_per_cpu(data))
		return "per-CPU interrupt";
	if (!irqd_can_balance(data))
		return "its driver does not let it move";
	if (!irq_is_movable(data))
		return "its controller cannot move it";
	if (irq_move_pending(data))
		return "moves when it is next raised";
	if (!cpumask_subset(irq_data_get_affinity_mask(data), &cpu_shield_irqs))
		return "its controller refused, or no other CPU is online";
	if (irqd_affinity_is_managed(data))
		return "managed: serves these CPUs";
	return "affinity set to shielded CPUs alone";
}

static void irq_report(struct seq_file *m, unsigned int irq, struct irq_desc *desc,
		       struct cpumask *cpus)
{
	struct irq_data *data = irq_desc_get_irq_data(desc);
	struct irqaction *action;
	const char *separator = "";

	if (!desc->action || !irqd_is_started(data) ||
	    !cpumask_and(cpus, irq_targets(data), &cpu_shield_irqs))
		return;

	seq_printf(m, "irq\t%u\t%*pbl\t", irq, cpumask_pr_args(cpus));
	for_each_action_of_desc(desc, action) {
		seq_puts(m, separator);
		seq_escape(m, action->name ?: "", "\t\n\\");
		separator = ",";
	}
	seq_printf(m, "\t%s\n", irq_stays_reason(data));
}

void cpu_shield_report_irqs(struct seq_file *m)
{
	cpumask_var_t cpus;
	unsigned int irq;

	if (!alloc_cpumask_var(&cpus, GFP_KERNEL | __GFP_NOFAIL))
		return;

	irq_lock_sparse();
	for_each_active_irq(irq) {
		struct irq_desc *desc = irq_to_desc(irq);

		raw_spin_lock_irq(&desc->lock);
		irq_report(m, irq, desc, cpus);
		raw_spin_unlock_irq(&desc->lock);
	}
	irq_unlock_sparse();
	free_cpumask_var(cpus);
}
