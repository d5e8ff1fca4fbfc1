/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM timershield

#if !defined(_TRACE_TIMERSHIELD_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_TIMERSHIELD_H

#include <linux/hrtimer.h>
#include <linux/tracepoint.h>

#ifdef CONFIG_TIMERSHIELD

/**
 * timershield_threshold - a CPU changes its threshold
 * @old: the level below which timers have been masked
 * @new: the level of the task that runs next: timers below it are masked
 */
TRACE_EVENT(timershield_threshold,

	TP_PROTO(u8 old, u8 new),

	TP_ARGS(old, new),

	TP_STRUCT__entry(
		__field(u8,	old)
		__field(u8,	new)
	),

	TP_fast_assign(
		__entry->old	= old;
		__entry->new	= new;
	),

	TP_printk("old=%u new=%u", __entry->old, __entry->new)
);

/**
 * timershield_stop - a served timer made a task runnable that preempts the
 *		      current one: expired timers of lower levels wait for it
 * @level: the level of that timer, and the new threshold
 * @old: the threshold before
 */
TRACE_EVENT(timershield_stop,

	TP_PROTO(u8 level, u8 old),

	TP_ARGS(level, old),

	TP_STRUCT__entry(
		__field(u8,	level)
		__field(u8,	old)
	),

	TP_fast_assign(
		__entry->level	= level;
		__entry->old	= old;
	),

	TP_printk("level=%u old=%u", __entry->level, __entry->old)
);

/**
 * timershield_release - a timer that expired while it was masked is served
 * @hrtimer: the timer
 * @held: time since its expiry, ns
 */
TRACE_EVENT(timershield_release,

	TP_PROTO(struct hrtimer *hrtimer, s64 held),

	TP_ARGS(hrtimer, held),

	TP_STRUCT__entry(
		__field(void *,	hrtimer)
		__field(void *,	function)
		__field(s64,	held)
		__field(u8,	level)
	),

	TP_fast_assign(
		__entry->hrtimer	= hrtimer;
		__entry->function	= hrtimer->function;
		__entry->held		= held;
		__entry->level		= hrtimer->level;
	),

	TP_printk("hrtimer=%p function=%ps level=%u held=%lld", __entry->hrtimer,
		  __entry->function, __entry->level, __entry->held)
);

/**
 * timershield_handover - a CPU takes a masked timer over from another one
 * @hrtimer: the timer
 * @from: the CPU that masks it
 * @to: the CPU that serves it
 */
TRACE_EVENT(timershield_handover,

	TP_PROTO(struct hrtimer *hrtimer, unsigned int from, unsigned int to),

	TP_ARGS(hrtimer, from, to),

	TP_STRUCT__entry(
		__field(void *,		hrtimer)
		__field(void *,		function)
		__field(unsigned int,	from)
		__field(unsigned int,	to)
		__field(u8,		level)
	),

	TP_fast_assign(
		__entry->hrtimer	= hrtimer;
		__entry->function	= hrtimer->function;
		__entry->from		= from;
		__entry->to		= to;
		__entry->level		= hrtimer->level;
	),

	TP_printk("hrtimer=%p function=%ps level=%u from=%u to=%u", __entry->hrtimer,
		  __entry->function, __entry->level, __entry->from, __entry->to)
);

#endif /* CONFIG_TIMERSHIELD */

#endif /* _TRACE_TIMERSHIELD_H */

#include <trace/define_trace.h>
