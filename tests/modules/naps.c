// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sleeps as drivers have them, for the suite critical-naps: while it is loaded, a kernel thread
 * sleeps for 1 ms again and again on the CPU where it was loaded, and writing to /proc/naps does so
 * once, for as long as the text says in us, in the task that writes.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/uaccess.h>

static struct task_struct *napper;

static int nap_for_ever(void *unused)
{
	while (!kthread_should_stop())
		usleep_range(1000, 1000);
	return 0;
}

static ssize_t nap(struct file *file, const char __user *text, size_t length, loff_t *offset)
{
	unsigned long us;
	int ret = kstrtoul_from_user(text, length, 10, &us);

	if (ret)
		return ret;
	usleep_range(us, us);
	return length;
}

static const struct proc_ops nap_ops = { .proc_write = nap };

static int __init naps_init(void)
{
	if (!proc_create("naps", 0200, NULL, &nap_ops))
		return -ENOMEM;
	napper = kthread_create(nap_for_ever, NULL, "napper");
	if (IS_ERR(napper)) {
		remove_proc_entry("naps", NULL);
		return PTR_ERR(napper);
	}
	kthread_bind(napper, raw_smp_processor_id());
	wake_up_process(napper);
	return 0;
}
module_init(naps_init);

static void __exit naps_exit(void)
{
	kthread_stop(napper);
	remove_proc_entry("naps", NULL);
}
module_exit(naps_exit);

MODULE_DESCRIPTION("Sleeps of a kernel thread and of a driver, for tests");
MODULE_LICENSE("GPL");
