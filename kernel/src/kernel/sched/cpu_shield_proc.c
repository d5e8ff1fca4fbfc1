// SPDX-License-Identifier: GPL-2.0-only
/*
 * /proc/shield: procs, irqs and report
 */
#include <linux/cpu_shield.h>
#include <linux/mmu_context.h>
#include <linux/pid_namespace.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>

#include "sched.h"

struct cpu_shield_file {
	const char	*name;
	struct cpumask	*shield;
	void		(*update)(void);
};

static const struct cpu_shield_file cpu_shield_files[] = {
	{ "shield/procs", &cpu_shield_procs, cpu_shield_update_tasks },
	{ "shield/irqs", &cpu_shield_irqs, cpu_shield_update_irqs },
};

static DEFINE_MUTEX(cpu_shield_mutex);

/* What follows "0x": digits in groups of 32 bits, however many are 0 */
static int cpu_shield_parse_mask(const char *text, struct cpumask *mask)
{
	if (!isxdigit(*text) || text[strspn(text, "0123456789abcdefABCDEF,")])
		return -EINVAL;

	text += strspn(text, "0,");
	return bitmap_parse(text, UINT_MAX, cpumask_bits(mask), nr_cpu_ids);
}

static int cpu_shield_parse_list(const char *text, struct cpumask *mask)
{
	int ret;

	/* The parser would stop there and not tell */
	if (strchr(text, '\n'))
		return -EINVAL;

	ret = bitmap_parselist(text, cpumask_bits(mask), nr_cpu_ids);
	return !ret && cpumask_empty(mask) ? -EINVAL : ret;
}

/* "1,3-5", "0x2a"; "", "none" and "0x0" are no CPUs */
static int cpu_shield_parse(char *text, struct cpumask *mask)
{
	int ret;

	text = strim(text);
	if (!*text || !strcmp(text, "none")) {
		cpumask_clear(mask);
		return 0;
	}
	if (!strncasecmp(text, "0x", 2))
		ret = cpu_shield_parse_mask(text + 2, mask);
	else
		ret = cpu_shield_parse_list(text, mask);
	return ret == -EOVERFLOW ? -ERANGE : ret;
}

static int cpu_shield_set(const struct cpu_shield_file *file, const struct cpumask *mask)
{
	guard(cpus_read_lock)();
	guard(mutex)(&cpu_shield_mutex);

	if (!cpumask_subset(mask, cpu_online_mask))
		return -ENODEV;
	if (cpumask_subset(cpu_online_mask, mask))
		return -EBUSY;
	if (cpumask_equal(mask, file->shield))
		return 0;

	if (!cpumask_empty(mask))
		static_branch_enable_cpuslocked(&cpu_shield_used);
	cpumask_copy(file->shield, mask);
	file->update();
	if (cpumask_empty(&cpu_shield_procs) && cpumask_empty(&cpu_shield_irqs))
		static_branch_disable_cpuslocked(&cpu_shield_used);
	return 0;
}

static int cpu_shield_set_text(const struct cpu_shield_file *file, char *text)
{
	cpumask_var_t mask;
	int ret;

	if (!zalloc_cpumask_var(&mask, GFP_KERNEL))
		return -ENOMEM;
	ret = cpu_shield_parse(text, mask);
	if (!ret)
		ret = cpu_shield_set(file, mask);
	free_cpumask_var(mask);
	return ret;
}

static ssize_t cpu_shield_write(struct file *f, const char __user *buffer,
				size_t count, loff_t *ppos)
{
	char *text;
	int ret;

	if (!capable(CAP_SYS_NICE))
		return -EPERM;
	if (!count)
		return 0;
	/* A list is written at once; 64 KiB hold one of more CPUs than there can be */
	if (*ppos || count > SZ_64K)
		return -EINVAL;

	text = memdup_user_nul(buffer, count);
	if (IS_ERR(text))
		return PTR_ERR(text);
	if (strlen(text) == count)
		ret = cpu_shield_set_text(pde_data(file_inode(f)), text);
	else
		ret = -EINVAL;
	kfree(text);
	if (ret)
		return ret;

	*ppos += count;
	return count;
}

static int cpu_shield_show(struct seq_file *m, void *v)
{
	const struct cpu_shield_file *file = m->private;

	guard(mutex)(&cpu_shield_mutex);
	seq_printf(m, "%*pbl\n", cpumask_pr_args(file->shield));
	return 0;
}

static int cpu_shield_open(struct inode *inode, struct file *file)
{
	return single_open(file, cpu_shield_show, pde_data(inode));
}

static const struct proc_ops cpu_shield_proc_ops = {
	.proc_open	= cpu_shield_open,
	.proc_read	= seq_read,
	.proc_lseek	= seq_lseek,
	.proc_write	= cpu_shield_write,
	.proc_release	= single_release,
};

/*
 * Why @p may run on shielded CPUs, which are put into @cpus, or NULL if it may
 * not. Called with pi_lock held.
 */
static const char *cpu_shield_task_reason(struct task_struct *p, struct cpumask *cpus)
{
	if (is_migration_disabled(p) &&
	    cpumask_test_cpu(task_cpu(p), &cpu_shield_procs) &&
	    !cpumask_test_cpu(task_cpu(p), &p->cpus_mask)) {
		cpumask_copy(cpus, cpumask_of(task_cpu(p)));
		return "leaves when it enables migration";
	}

	if (!cpumask_and(cpus, &p->cpus_mask, &cpu_shield_procs))
		return NULL;
	if (p->flags & PF_KTHREAD)
		return kthread_is_per_cpu(p) || p->nr_cpus_allowed == 1 ?
		       "per-CPU kernel thread" : "kernel thread bound to these CPUs";
	if (task_has_dl_policy(p))
		return "SCHED_DEADLINE is admitted for all CPUs";
	if (!cpumask_subset(&p->cpus_unshielded, &cpu_shield_procs))
		return "no other CPU of its affinity is online";
	if (p->user_cpus_ptr && cpumask_subset(p->user_cpus_ptr, &cpu_shield_procs))
		return "affinity set to shielded CPUs alone";
	return "cpuset has shielded CPUs alone";
}

static void cpu_shield_report_task(struct seq_file *m, struct task_struct *p,
				   pid_t pid, struct cpumask *cpus)
{
	char comm[TASK_COMM_LEN];
	const char *reason;

	scoped_guard(raw_spinlock_irqsave, &p->pi_lock)
		reason = cpu_shield_task_reason(p, cpus);
	if (!reason)
		return;

	seq_printf(m, "task\t%d\t%*pbl\t", pid, cpumask_pr_args(cpus));
	seq_escape(m, get_task_comm(comm, p), "\t\n\\");
	seq_printf(m, "\t%s\n", reason);
}

static int cpu_shield_report_show(struct seq_file *m, void *v)
{
	struct pid_namespace *ns = proc_pid_ns(file_inode(m->file)->i_sb);
	struct task_struct *g, *t;
	cpumask_var_t cpus;
	pid_t pid;

	if (!alloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;

	guard(mutex)(&cpu_shield_mutex);
	seq_puts(m, "#kind\tid\tcpus\tname\treason\n");
	rcu_read_lock();
	for_each_process_thread(g, t) {
		pid = task_pid_nr_ns(t, ns);
		if (pid && !t->exit_state)
			cpu_shield_report_task(m, t, pid, cpus);
	}
	rcu_read_unlock();
	free_cpumask_var(cpus);

	cpu_shield_report_irqs(m);
	return 0;
}

static int __init cpu_shield_proc_init(void)
{
	const struct cpu_shield_file *file;
	unsigned int i;

	if (!proc_mkdir("shield", NULL))
		return -ENOMEM;

	for (i = 0; i < ARRAY_SIZE(cpu_shield_files); i++) {
		file = &cpu_shield_files[i];
		if (!proc_create_data(file->name, 0644, NULL, &cpu_shield_proc_ops,
				      (void *)file))
			return -ENOMEM;
	}
	if (!proc_create_single("shield/report", 0444, NULL, cpu_shield_report_show))
		return -ENOMEM;
	return 0;
}
late_initcall(cpu_shield_proc_init);
