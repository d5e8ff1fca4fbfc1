// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's tracepoints: those that the module calls, and the one that calls it. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "shield.h"

static struct {
	const char *name;
	struct tracepoint *tracepoint;
} events[] = {
	[TRACE_START] = { "hrtimer_start" },
	[TRACE_EXPIRE_ENTRY] = { "hrtimer_expire_entry" },
	[TRACE_EXPIRE_EXIT] = { "hrtimer_expire_exit" },
	[TRACE_SWITCH] = { "sched_switch" },
};

/* They are not exported, so call the functions attached to them, as they do. */
void trace_timer(int event, struct hrtimer *timer, s64 value)
{
	struct tracepoint *tracepoint = events[event].tracepoint;

	if (!static_key_enabled(&tracepoint->key))
		return;
	ts_trace_begin();
	switch (event) {
	case TRACE_START:
		/* Whether it was armed: older kernels do not ask. */
		((int (*)(void *, struct hrtimer *, enum hrtimer_mode, bool))tracepoint->iterator)
			(NULL, timer, value, false);
		break;
	case TRACE_EXPIRE_ENTRY:
		((ts_expire_entry_t)tracepoint->iterator)(NULL, timer, ts_expire_now(value));
		break;
	case TRACE_EXPIRE_EXIT:
		((int (*)(void *, struct hrtimer *))tracepoint->iterator)(NULL, timer);
	}
	ts_trace_end();
}

static void find_tracepoint(struct tracepoint *tracepoint, void *unused)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(events); i++)
		if (!strcmp(tracepoint->name, events[i].name))
			events[i].tracepoint = tracepoint;
}

int events_resolve(void)
{
	int i;

	for_each_kernel_tracepoint(find_tracepoint, NULL);
	for (i = 0; i < ARRAY_SIZE(events); i++) {
		if (!events[i].tracepoint) {
			pr_err("this kernel has no tracepoint %s\n", events[i].name);
			return -ENOENT;
		}
	}
	return 0;
}

struct tracepoint *event_tracepoint(int event)
{
	return events[event].tracepoint;
}
