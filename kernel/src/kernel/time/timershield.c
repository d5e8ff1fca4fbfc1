// SPDX-License-Identifier: GPL-2.0-only
/*
 * TimerShield: whose timer it is, the switch, and what the shield did
 *
 * The masking itself is part of hrtimer.c.
 */
#include <linux/cpu.h>
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/mutex.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/sysctl.h>
#include <linux/timershield.h>

#include "timershield_internal.h"

#define CREATE_TRACE_POINTS
#include <trace/events/timershield.h>

DEFINE_STATIC_KEY_FALSE(timershield_enabled);
DEFINE_PER_CPU(struct timershield_stats, timershield_stats);

/* Serializes switching */
static DEFINE_MUTEX(timershield_mutex);
static bool timershield_on = IS_ENABLED(CONFIG_TIMERSHIELD_DEFAULT_ON);
/* Bases may be shielded: the static key is on. */
static bool timershield_active;

/* For __timershield_switch(), a header that cannot use tracepoints itself */
void timershield_trace_threshold(u8 old, u8 new)
{
	trace_timershield_threshold(old, new);
}

/*
 * For a CPU whose timers get their high resolution. Interrupts are disabled: if
 * the shield is switched meanwhile, this CPU hears of it afterwards.
 */
bool timershield_is_on(void)
{
	return READ_ONCE(timershield_active);
}

/**
 * timershield_count_released - a timer that was held back is served
 * @timer: the timer
 * @held: time since its expiry, ns
 * @nr: how many the same interrupt has served before
 *
 * Context: hrtimer_interrupt() with the base lock held.
 */
void timershield_count_released(struct hrtimer *timer, ktime_t held, unsigned int nr)
{
	struct timershield_stats *stats = this_cpu_ptr(&timershield_stats);

	stats->released++;
	if (nr)
		stats->avoided++;
	if (held > stats->longest_hold)
		stats->longest_hold = held;
	trace_timershield_release(timer, held);
}

/* Switch all CPUs, and those to come. */
static void timershield_set(bool on)
{
	lockdep_assert_held(&timershield_mutex);

	cpus_read_lock();
	timershield_on = on;
	if (on) {
		static_branch_enable_cpuslocked(&timershield_enabled);
		WRITE_ONCE(timershield_active, true);
		on_each_cpu(hrtimer_shield_on, NULL, 1);
		timershield_follow_all();
	} else {
		WRITE_ONCE(timershield_active, false);
		on_each_cpu(hrtimer_shield_off, NULL, 1);
		static_branch_disable_cpuslocked(&timershield_enabled);
	}
	cpus_read_unlock();
}

static int timershield_sysctl_handler(const struct ctl_table *table, int write, void *buffer,
				      size_t *lenp, loff_t *ppos)
{
	struct ctl_table on_table = *table;
	u8 on;
	int ret;

	mutex_lock(&timershield_mutex);
	on = timershield_on;
	on_table.data = &on;
	ret = proc_dou8vec_minmax(&on_table, write, buffer, lenp, ppos);
	if (!ret && write && on != timershield_on)
		timershield_set(on);
	mutex_unlock(&timershield_mutex);
	return ret;
}

static struct ctl_table timershield_sysctl[] = {
	{
		.procname	= "timershield",
		.maxlen		= sizeof(u8),
		.mode		= 0644,
		.proc_handler	= timershield_sysctl_handler,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	},
};

static int timershield_show(struct seq_file *m, void *v)
{
	unsigned int cpu;

	seq_puts(m, "cpu\tthreshold\tmasked\treleased\tavoided\tlongest_hold_ns\ttaken\n");
	for_each_online_cpu(cpu) {
		const struct timershield_stats *stats = per_cpu_ptr(&timershield_stats, cpu);

		seq_printf(m, "%u\t%u\t%llu\t%llu\t%llu\t%llu\t%llu\n", cpu,
			   READ_ONCE(per_cpu(hrtimer_bases, cpu).threshold), stats->masked,
			   stats->released, stats->avoided, stats->longest_hold, stats->taken);
	}
	return 0;
}

static int __init timershield_setup(char *str)
{
	bool on;

	if (kstrtobool(str, &on)) {
		pr_warn("timershield: boot parameter timershield= takes 0 or 1\n");
		return 0;
	}
	timershield_on = on;
	return 1;
}
__setup("timershield=", timershield_setup);

static int __init timershield_init(void)
{
	mutex_lock(&timershield_mutex);
	timershield_set(timershield_on);
	mutex_unlock(&timershield_mutex);
	return 0;
}
early_initcall(timershield_init);

static int __init timershield_init_files(void)
{
	register_sysctl("kernel", timershield_sysctl);
	proc_create_single("timershield", 0444, NULL, timershield_show);
	return 0;
}
device_initcall(timershield_init_files);
