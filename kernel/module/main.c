// SPDX-License-Identifier: GPL-2.0-only
/*
 * TimerShield as a module: while a real-time task runs, ordinary tasks' timers do not
 * interrupt its CPU. Loading, unloading, and the switch.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpuhotplug.h>
#include <linux/module.h>
#include <linux/sysctl.h>

#include "shield.h"

static int at_first = SHIELD_CLASSES;
module_param_named(mode, at_first, int, 0);
MODULE_PARM_DESC(mode, "what kernel.timershield is at first: 0: off; 1: timers of ordinary tasks are masked (default); 2: by level");

static DEFINE_MUTEX(mode_lock);
static int mode;
static enum cpuhp_state cpu_state;
static struct ctl_table_header *sysctl;

/* While a CPU's queues have timers, the shield must see its switches, and when a clock is set. */
static void turn_off(void)
{
	hooks_remove(false);
	cpuhp_remove_state(cpu_state);
	hooks_remove(true);
	switch_probe_remove();
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
	err = hooks_add();
	if (err)
		turn_off();
	return err;
}

static const char * const effects[] = {
	[SHIELD_OFF] = "no timer is masked",
	[SHIELD_CLASSES] = IS_ENABLED(CONFIG_PREEMPT_RT) ?
		"timers of ordinary tasks are masked; on PREEMPT_RT that gains next to nothing" :
		"timers of ordinary tasks do not interrupt real-time tasks",
	[SHIELD_LEVELS] = "timers do not interrupt tasks of a higher real-time priority",
};

static int choose(int chosen)
{
	int err = 0;

	if (chosen == SHIELD_LEVELS)
		err = timershield_add_levels();
	if (err)
		return err;
	if (chosen != SHIELD_OFF)
		shield_choose(chosen);
	if (mode == SHIELD_OFF && chosen != SHIELD_OFF)
		err = turn_on();
	else if (mode != SHIELD_OFF && chosen == SHIELD_OFF)
		turn_off();
	if (err)
		return err;
	mode = chosen;
	pr_info("version %s, kernel.timershield=%d: %s\n", TIMERSHIELD_VERSION, mode,
		effects[mode]);
	return 0;
}

#if KERNEL_IS(6, 1)
static int set_mode(struct ctl_table *table, int write, void *buffer, size_t *length,
		      loff_t *position)
#else
static int set_mode(const struct ctl_table *table, int write, void *buffer, size_t *length,
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
		.extra2 = SYSCTL_TWO,
	};

	mutex_lock(&mode_lock);
	value = mode;
	err = proc_dointvec_minmax(&copy, write, buffer, length, position);
	if (!err && write && value != mode)
		err = choose(value);
	mutex_unlock(&mode_lock);
	return err;
}

static struct ctl_table sysctls[] = {
	{
		.procname = "timershield",
		.mode = 0644,
		.proc_handler = set_mode,
	},
#if KERNEL_IS(6, 1)
	{ }
#endif
};

static int __init check_kernel(void)
{
	int cpu;

	if (HRTIMER_MAX_CLOCK_BASES > 8) {
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

	if (at_first < SHIELD_OFF || at_first > SHIELD_LEVELS) {
		pr_err("mode=%d: expected 0, 1 or 2\n", at_first);
		return -EINVAL;
	}
	err = check_kernel();
	if (err)
		return err;
	for_each_possible_cpu(cpu)
		shield_setup(per_cpu_ptr(&shields, cpu), cpu);

	err = choose(at_first);
	if (err)
		goto no_mode;
	sysctl = register_sysctl("kernel", sysctls);
	if (sysctl)
		return 0;
	err = -ENOMEM;
	choose(SHIELD_OFF);
no_mode:
	hooks_release();
	return err;
}
module_init(shield_init);

static void __exit shield_exit(void)
{
	unregister_sysctl_table(sysctl);
	choose(SHIELD_OFF);
	hooks_release();
}
module_exit(shield_exit);

MODULE_DESCRIPTION("TimerShield: real-time tasks are not interrupted by ordinary tasks' timers");
MODULE_VERSION(TIMERSHIELD_VERSION);
MODULE_LICENSE("GPL");
