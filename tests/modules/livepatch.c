// SPDX-License-Identifier: GPL-2.0-only
/*
 * A livepatch of a function that the shield replaces, for the suite refusals. It changes nothing:
 * it goes on behind the call by which ftrace came here, the function's first instruction but for
 * an endbr64.
 */
#include <linux/hrtimer.h>
#include <linux/livepatch.h>
#include <linux/module.h>

#define ENDBR64		0xfa1e0ff3
#define CALL_SIZE	5

static void start(struct hrtimer *timer, ktime_t time, u64 slack, const enum hrtimer_mode mode)
{
	void *function = hrtimer_start_range_ns;
	typeof(hrtimer_start_range_ns) *rest;

	if (*(u32 *)function == ENDBR64)
		function += sizeof(u32);
	rest = function + CALL_SIZE;
	rest(timer, time, slack, mode);
}

static struct klp_func functions[] = {
	{ .old_name = "hrtimer_start_range_ns", .new_func = start },
	{ }
};

static struct klp_object objects[] = {
	{ .funcs = functions },
	{ }
};

static struct klp_patch patch = { .mod = THIS_MODULE, .objs = objects };

static int __init livepatch_init(void)
{
	return klp_enable_patch(&patch);
}
module_init(livepatch_init);

static void __exit livepatch_exit(void)
{
}
module_exit(livepatch_exit);

MODULE_DESCRIPTION("Livepatch of hrtimer_start_range_ns() for tests");
MODULE_INFO(livepatch, "Y");
MODULE_LICENSE("GPL");
