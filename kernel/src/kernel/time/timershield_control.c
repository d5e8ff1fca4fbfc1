// SPDX-License-Identifier: GPL-2.0-only
/*
 * TimerShield: the switch and the counters
 */
#include <linux/cpu.h>
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/sysctl.h>

#include "tick-internal.h"
#include "timershield_internal.h"

static DEFINE_MUTEX(timershield_mutex);
/* What is written to the sysctl, or read from it */
static u8 timershield_wanted;
static bool timershield_boot __initdata = IS_ENABLED(CONFIG_TIMERSHIELD_DEFAULT_ON);

/*
 * Timers that have been armed before are not masked until they are armed again.
 * When the shield is switched off, those in its queues go to the stock ones. A
 * timer that is armed meanwhile sees @timershield_on under the base lock.
 */
static void timershield_set(bool on)
{
	unsigned int cpu;

	lockdep_assert_held(&timershield_mutex);
	if (on == timershield_on)
		return;
	if (on) {
		/* A CPU masks nothing until it switches to another task. */
		for_each_possible_cpu(cpu)
			WRITE_ONCE(per_cpu(hrtimer_bases, cpu).shield.threshold, 0);
		static_branch_enable(&timershield_key);
		WRITE_ONCE(timershield_on, true);
		return;
	}
	WRITE_ONCE(timershield_on, false);
	/* CPUs that are off have no timers. */
	cpus_read_lock();
	for_each_online_cpu(cpu) {
		while (hrtimer_disown(cpu, TIMERSHIELD_HELD_BATCH))
			cond_resched();
	}
	cpus_read_unlock();
	static_branch_disable(&timershield_key);
}

static int timershield_sysctl_handler(const struct ctl_table *table, int write, void *buffer,
				      size_t *lenp, loff_t *ppos)
{
	int ret;

	guard(mutex)(&timershield_mutex);
	timershield_wanted = timershield_on;
	ret = proc_dou8vec_minmax(table, write, buffer, lenp, ppos);
	if (!ret && write)
		timershield_set(timershield_wanted);
	return ret;
}

static struct ctl_table timershield_sysctl[] = {
	{
		.procname	= "timershield",
		.data		= &timershield_wanted,
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

	seq_puts(m, "cpu\tthreshold\tmasked\treleased\tavoided\tlongest_hold_ns\n");
	for_each_online_cpu(cpu) {
		const struct timershield_cpu *sc = &per_cpu(hrtimer_bases, cpu).shield;
		u64 masked = READ_ONCE(sc->counters.masked);

		seq_printf(m, "%u\t%u\t%llu\t%llu\t%llu\t%llu\n", cpu,
			   READ_ONCE(sc->threshold), masked, READ_ONCE(sc->counters.released),
			   masked - min(masked, READ_ONCE(sc->counters.interrupts)),
			   READ_ONCE(sc->counters.longest));
	}
	return 0;
}

static int __init timershield_setup(char *str)
{
	if (kstrtobool(str, &timershield_boot)) {
		pr_warn("timershield: boot parameter timershield= takes 0 or 1\n");
		return 0;
	}
	return 1;
}
__setup("timershield=", timershield_setup);

static int __init timershield_init(void)
{
	register_sysctl("kernel", timershield_sysctl);
	/* The thresholds reveal the priorities of other users' tasks. */
	proc_create_single("timershield", 0400, NULL, timershield_show);
	guard(mutex)(&timershield_mutex);
	timershield_set(timershield_boot);
	return 0;
}
device_initcall(timershield_init);
