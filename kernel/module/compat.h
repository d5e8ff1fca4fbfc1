/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The differences between the supported kernels. Layouts are those of the kernel's own
 * headers; with CONFIG_MODVERSIONS the loader refuses a kernel whose layouts differ, since
 * the checksum of hrtimer_start_range_ns() covers struct hrtimer and its bases.
 */
#ifndef TIMERSHIELD_COMPAT_H
#define TIMERSHIELD_COMPAT_H

#include <linux/ftrace.h>
#include <linux/hrtimer.h>
#include <linux/tracepoint.h>
#include <linux/version.h>

#define TIMERSHIELD_VERSION	"3.0.0"

#define KERNEL_IS(major, minor) \
	(LINUX_VERSION_CODE >= KERNEL_VERSION(major, minor, 0) && \
	 LINUX_VERSION_CODE < KERNEL_VERSION(major, (minor) + 1, 0))

/* hrtimers are alike in both. */
#define KERNEL_IS_7	(KERNEL_IS(7, 2) || KERNEL_IS(7, 3))

#if !KERNEL_IS(6, 1) && !KERNEL_IS(6, 12) && !KERNEL_IS_7
#error "this version of Linux is not supported: the module is for 6.1, 6.12, 7.2 and 7.3"
#endif
#if !defined(CONFIG_X86_64) && !defined(CONFIG_ARM64)
#error "timershield's module knows x86-64 and arm64 only"
#endif
#if !defined(CONFIG_DYNAMIC_FTRACE_WITH_ARGS) || !defined(CONFIG_HIGH_RES_TIMERS) || \
	!defined(CONFIG_KALLSYMS)
#error "timershield needs CONFIG_DYNAMIC_FTRACE_WITH_ARGS, _HIGH_RES_TIMERS and _KALLSYMS"
#endif

#if defined(CONFIG_CFI) || defined(CONFIG_CFI_CLANG)
#error "timershield's module cannot call tracepoints under CONFIG_CFI: their types vary"
#endif

#ifdef CONFIG_SCHED_PROXY_EXEC
#error "timershield's module cannot tell whose priority counts under CONFIG_SCHED_PROXY_EXEC"
#endif

#if KERNEL_IS_7
#if KERNEL_IS(7, 3)
#include <linux/hrtimer_bases.h>
#endif

#define TIMERSHIELD_USER_START	/* there is hrtimer_start_range_ns_user() */
#define timer_queued		is_queued
#define TS_HRTICK		IS_ENABLED(CONFIG_SCHED_HRTICK)
#define ts_queue_init		timerqueue_linked_init_head
#define ts_queue_add		timerqueue_linked_add
#define ts_queue_del		timerqueue_linked_del

static inline struct hrtimer *first_timer(struct hrtimer_clock_base *base)
{
	struct timerqueue_linked_node *node = timerqueue_linked_first(&base->active);

	return node ? container_of(node, struct hrtimer, node) : NULL;
}

/* Cancel the hrtick. As a lazy timer it would leave the device set. */
static inline void ts_cancel_hrtick(struct hrtimer *hrtick)
{
	if (!hrtick || !hrtimer_is_queued(hrtick))
		return;
	hrtick->is_lazy = false;
	hrtimer_try_to_cancel(hrtick);
	hrtick->is_lazy = true;
}

/* The stock code keeps the first expiry of each queue next to it. */
static inline void first_timer_changed(struct hrtimer_clock_base *base)
{
	struct hrtimer *first = first_timer(base);

	base->expires_next = first ? first->node.expires : KTIME_MAX;
}
#else
#define timer_queued		state
#define TS_HRTICK		0	/* off unless it is asked for */
#define ts_queue_init		timerqueue_init_head
#define ts_queue_add		timerqueue_add
#define ts_queue_del		timerqueue_del

static inline struct hrtimer *first_timer(struct hrtimer_clock_base *base)
{
	struct timerqueue_node *node = timerqueue_getnext(&base->active);

	return node ? container_of(node, struct hrtimer, node) : NULL;
}

/* The scheduler cancels it itself. */
static inline void ts_cancel_hrtick(struct hrtimer *hrtick)
{
}

static inline void first_timer_changed(struct hrtimer_clock_base *base)
{
}

static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/* Around the call of the functions attached to a tracepoint. */
#if KERNEL_IS_7
#define ts_trace_begin()	struct srcu_ctr __percpu *ts_srcu = \
					srcu_read_lock_fast_notrace(&tracepoint_srcu)
#define ts_trace_end()		srcu_read_unlock_fast_notrace(&tracepoint_srcu, ts_srcu)
#define ts_expire_now(now)	(now)
typedef int (*ts_expire_entry_t)(void *, struct hrtimer *, ktime_t);
#else
#define ts_trace_begin()	preempt_disable_notrace()
#define ts_trace_end()		preempt_enable_notrace()
#define ts_expire_now(now)	(&(now))
typedef int (*ts_expire_entry_t)(void *, struct hrtimer *, ktime_t *);
#endif

#if KERNEL_IS(6, 1)
#define TS_TIMERFD_READ		"timerfd_read"
#define ts_redirect(fregs, to)	ftrace_instruction_pointer_set(fregs, (unsigned long)(to))
#else
#define TS_TIMERFD_READ		"timerfd_read_iter"
#define ts_redirect(fregs, to)	ftrace_regs_set_instruction_pointer(fregs, (unsigned long)(to))
#endif

/* The first or the second one of the function that is being called. */
static inline unsigned long ts_argument(struct ftrace_regs *regs, unsigned int n)
{
#if KERNEL_IS(6, 1)
	return n ? regs->regs.si : regs->regs.di;
#else
	return ftrace_regs_get_argument(regs, n);
#endif
}

#endif
