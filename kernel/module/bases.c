// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory that timers may point to.
 *
 * A timer keeps pointing to the queue that it was on last, also when it is cancelled; the
 * kernel follows that pointer, sometimes without a lock, until the timer is freed or armed
 * again. So the queues must stay when the shield is unloaded: they are in a module of their
 * own, which has no exit.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "bases.h"

DEFINE_PER_CPU(struct shield_bases *, timershield_bases);
EXPORT_PER_CPU_SYMBOL_GPL(timershield_bases);
struct hrtimer_cpu_base __percpu *timershield_stock;
EXPORT_SYMBOL_GPL(timershield_stock);

static enum hrtimer_restart never(struct hrtimer *timer)
{
	return HRTIMER_NORESTART;
}

/* Not every kernel compares its layouts with those of a module, so check some of them here. */
static bool __init is_as_declared(const struct hrtimer_cpu_base *stock, unsigned int cpu)
{
	unsigned int i;

	if (stock->cpu != cpu)
		return false;
	for (i = 0; i < HRTIMER_MAX_CLOCK_BASES; i++) {
		const struct hrtimer_clock_base *queue = &stock->clock_base[i];

		if (queue->cpu_base != stock || queue->index != i)
			return false;
	}
	return true;
}

/* A timer that was just set up points to this CPU's first queue. */
static int __init find_stock(void)
{
	static struct hrtimer timer;
	struct hrtimer_cpu_base *stock;
	int cpu, ret = 0;

	cpu = get_cpu();
	hrtimer_setup(&timer, never, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	stock = timer.base->cpu_base;
	timershield_stock = (void __percpu *)((unsigned long)stock - per_cpu_offset(cpu));
	put_cpu();

	/* The queues of a CPU that never was online point nowhere. */
	cpus_read_lock();
	for_each_online_cpu(cpu) {
		if (!is_as_declared(per_cpu_ptr(timershield_stock, cpu), cpu)) {
			pr_err("the kernel's timer queues are not where its headers say\n");
			ret = -ENODEV;
			break;
		}
	}
	cpus_read_unlock();
	return ret;
}

/* What a level's queues need besides zeroes; @stock: those of the kernel on that CPU */
static void set_up(struct shield_level *at, u8 level, struct hrtimer_cpu_base *base,
		   const struct hrtimer_cpu_base *stock)
{
	int i;

	at->level = level;
	for (i = 0; i < SHIELD_CLOCKS; i++) {
		struct hrtimer_clock_base *queue = &at->queue[i];

		/* index and clock */
		memcpy(queue, &stock->clock_base[i], sizeof(*queue));
		queue->cpu_base = base;
		queue->running = NULL;
		queue->offset = 0;
		seqcount_raw_spinlock_init(&queue->seq, &base->lock);
		ts_queue_init(&queue->active);
		first_timer_changed(queue);
	}
}

/* The queues that mode 2 needs, for all CPUs. They, too, stay. */
int timershield_add_levels(void)
{
	unsigned int level;
	int cpu;

	for_each_possible_cpu(cpu) {
		struct shield_bases *bases = per_cpu(timershield_bases, cpu);
		struct shield_level *levels;

		if (bases->realtime)
			continue;
		levels = kvcalloc(TIMERSHIELD_DEADLINE, sizeof(*levels), GFP_KERNEL);
		if (!levels)
			return -ENOMEM;
		for (level = TIMERSHIELD_REALTIME; level <= TIMERSHIELD_DEADLINE; level++)
			set_up(&levels[level - TIMERSHIELD_REALTIME], level, &bases->base,
			       per_cpu_ptr(timershield_stock, cpu));
		/* whoever gives them back may run on another CPU: highest_level() */
		smp_store_release(&bases->realtime, levels);
	}
	return 0;
}
EXPORT_SYMBOL_GPL(timershield_add_levels);

static struct shield_bases * __init new_bases(int cpu)
{
	struct shield_bases *bases;
	struct hrtimer_cpu_base *base;

	bases = kvzalloc_node(sizeof(*bases), GFP_KERNEL, cpu_to_node(cpu));
	if (!bases)
		return NULL;
	base = &bases->base;
	raw_spin_lock_init(&base->lock);
	base->cpu = cpu;
	/* The kernel warns when it queues a timer again on a CPU that is off. */
	base->online = 1;
	base->expires_next = KTIME_MAX;
	set_up(&bases->ordinary, TIMERSHIELD_ORDINARY, base, per_cpu_ptr(timershield_stock, cpu));
	return bases;
}

static int __init bases_init(void)
{
	int cpu, err;

	err = find_stock();
	if (err)
		return err;
	for_each_possible_cpu(cpu) {
		per_cpu(timershield_bases, cpu) = new_bases(cpu);
		if (!per_cpu(timershield_bases, cpu))
			goto no_memory;
	}
	return 0;

no_memory:
	for_each_possible_cpu(cpu)
		kvfree(per_cpu(timershield_bases, cpu));
	return -ENOMEM;
}
module_init(bases_init);

MODULE_DESCRIPTION("TimerShield: queues that outlive the shield");
MODULE_VERSION(TIMERSHIELD_VERSION);
MODULE_LICENSE("GPL");
