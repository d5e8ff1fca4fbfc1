/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM timershield

#if !defined(_TRACE_TIMERSHIELD_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_TIMERSHIELD_H

#include <linux/hrtimer.h>
#include <linux/tracepoint.h>

/**
 * timershield_threshold - a CPU switches to a task of another level
 * @old: the level below which timers have been masked
 * @new: the level below which they are masked from now on
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
 * timershield_expire - a timer expires that has been masked
 * @hrtimer: the timer
 * @held: time since its expiry, ns
 * @tick: it expires because it was held for a tick
 */
TRACE_EVENT(timershield_expire,

	TP_PROTO(struct hrtimer *hrtimer, s64 held, bool tick),

	TP_ARGS(hrtimer, held, tick),

	TP_STRUCT__entry(
		__field(void *,	hrtimer)
		__field(void *,	function)
		__field(s64,	held)
		__field(u8,	level)
		__field(bool,	tick)
	),

	TP_fast_assign(
		__entry->hrtimer	= hrtimer;
		__entry->function	= ACCESS_PRIVATE(hrtimer, function);
		__entry->held		= held;
		__entry->level		= hrtimer->level;
		__entry->tick		= tick;
	),

	TP_printk("hrtimer=%p function=%ps level=%u held=%lld tick=%d", __entry->hrtimer,
		  __entry->function, __entry->level, __entry->held, __entry->tick)
);

#endif /* _TRACE_TIMERSHIELD_H */

#include <trace/define_trace.h>
