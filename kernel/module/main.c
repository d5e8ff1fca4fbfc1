// SPDX-License-Identifier: GPL-2.0-only
/*
 * TimerShield as a module: while a real-time task runs, ordinary tasks' timers do not
 * interrupt its CPU. Loading, unloading, and the switch.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpuhotplug.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/sysctl.h>

#include "shield.h"

static int on = 1;
module_param(on, int, 0);
MODULE_PARM_DESC(on, "1: on at once (default); 0: off until kernel.timershield=1");

static DEFINE_MUTEX(switch_lock);
static int is_on;
static enum cpuhp_state cpu_state;
static struct ctl_table_header *sysctl;

/* While a CPU's queues have timers, the shield must see each of its switches. */
static void turn_off(void)
{
	hooks_remove();
	cpuhp_remove_state(cpu_state);
	switch_probe_remove();
	is_on = 0;
}

static int turn_on(void)
{
	int err;

	err = switch_probe_add();
	if (err)
		return err;
	err = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "timershield:online", shield_up, shield_down);
	if (err < 0) {
		switch_probe_remove();
		return err;
	}
	cpu_state = err;
	is_on = 1;
	err = hooks_add();
	if (err)
		turn_off();
	return err;
}

#if KERNEL_IS(6, 1)
static int set_switch(struct ctl_table *table, int write, void *buffer, size_t *length,
		      loff_t *position)
#else
static int set_switch(const struct ctl_table *table, int write, void *buffer, size_t *length,
		      loff_t *position)
#endif
{
	int value, err;
	struct ctl_table copy = {
		.procname = table->procname,
		.data = &value,
		.maxlen = sizeof(value),
		.mode = table->mode,
		.extra1 = SYSCTL_ZERO,
		.extra2 = SYSCTL_ONE,
	};

	mutex_lock(&switch_lock);
	value = is_on;
	err = proc_dointvec_minmax(&copy, write, buffer, length, position);
	if (!err && write && value != is_on) {
		if (value)
			err = turn_on();
		else
			turn_off();
	}
	mutex_unlock(&switch_lock);
	return err;
}

static struct ctl_table sysctls[] = {
	{
		.procname = "timershield",
		.mode = 0644,
		.proc_handler = set_switch,
	},
#if KERNEL_IS(6, 1)
	{ }
#endif
};

static int show(struct seq_file *file, void *unused)
{
	int cpu;

	seq_puts(file, "cpu\tthreshold\tmasked\treleased\tavoided\tlongest_hold_ns\n");
	for_each_online_cpu(cpu) {
		const struct shield *shield = per_cpu_ptr(&shields, cpu);
		const struct timershield_counters *counters = &shield->core.counters;
		u64 masked = READ_ONCE(counters->masked);

		seq_printf(file, "%d\t%d\t%llu\t%llu\t%llu\t%llu\n", cpu,
			   READ_ONCE(shield->core.threshold), masked,
			   READ_ONCE(counters->released),
			   masked - min(masked, READ_ONCE(counters->interrupts)),
			   READ_ONCE(counters->longest));
	}
	return 0;
}

static int __init check_kernel(void)
{
	int cpu;

	if (IS_ENABLED(CONFIG_TIMERSHIELD)) {
		pr_err("this kernel has the shield built in: sysctl kernel.timershield=1\n");
		return -EEXIST;
	}
	for_each_online_cpu(cpu) {
		if (!per_cpu_ptr(timershield_stock, cpu)->hres_active) {
			pr_err("CPU %d has no high-resolution timers; see highres= and nohz=\n",
			       cpu);
			return -ENODEV;
		}
	}
	return hooks_resolve();
}

static int __init shield_init(void)
{
	int cpu, err;

	err = check_kernel();
	if (err)
		return err;
	for_each_possible_cpu(cpu)
		shield_setup(per_cpu_ptr(&shields, cpu), cpu);

	err = -ENOMEM;
	if (!proc_create_single("timershield", 0400, NULL, show))
		goto no_proc;
	sysctl = register_sysctl("kernel", sysctls);
	if (!sysctl)
		goto no_sysctl;
	err = 0;
	mutex_lock(&switch_lock);
	if (on && !is_on)
		err = turn_on();
	mutex_unlock(&switch_lock);
	if (!err)
		return 0;
	unregister_sysctl_table(sysctl);
	/* by the sysctl, meanwhile */
	if (is_on)
		turn_off();
no_sysctl:
	remove_proc_entry("timershield", NULL);
no_proc:
	hooks_release();
	return err;
}
module_init(shield_init);

static void __exit shield_exit(void)
{
	unregister_sysctl_table(sysctl);
	remove_proc_entry("timershield", NULL);
	if (is_on)
		turn_off();
	hooks_release();
}
module_exit(shield_exit);

MODULE_DESCRIPTION("TimerShield: real-time tasks are not interrupted by ordinary tasks' timers");
MODULE_LICENSE("GPL");
