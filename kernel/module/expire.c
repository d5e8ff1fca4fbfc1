// SPDX-License-Identifier: GPL-2.0-only
/* The two proxies of each CPU, which expire what is in its queues. */
#include <linux/interrupt.h>
#include <linux/jiffies.h>

#include "queue.h"

DEFINE_PER_CPU(struct shield, shields);

/* Without PREEMPT_RT no task's timer expires in a softirq. */
#define CONTEXTS	(IS_ENABLED(CONFIG_PREEMPT_RT) ? SHIELD_CONTEXTS : 1)

/*
 * When the next timer may expire in each context: those that have expired at @now already only
 * after @gap, so that other interrupts get in and the kernel does not take it for a hang; those
 * that are masked in the first tick when they have been held for the length of one. The kernel
 * has its ticks at multiples of their length (but for skew_tick=), so this takes no interrupt of
 * its own.
 */
static void first_expiries(struct shield *shield, ktime_t now, ktime_t gap, ktime_t *first)
{
	struct shield_bases *bases = shield->bases;
	ktime_t held[SHIELD_CONTEXTS] = { KTIME_MAX, KTIME_MAX };
	unsigned int word, context;
	unsigned long bits;

	raw_spin_lock(&bases->base.lock);
	/* for_each_set_bit() calls a function for each bit, at each switch between levels. */
	for (word = 0; word < ARRAY_SIZE(bases->used); word++) {
		for (bits = bases->used[word]; bits; bits &= bits - 1) {
			unsigned int at = word * BITS_PER_LONG + __ffs(bits);
			struct hrtimer *timer = first_timer(&bases->queue[at]);
			ktime_t expires;

			if (!timer) {
				__clear_bit(at, bases->used);
				continue;
			}
			context = context_of(at);
			expires = queue_expiry(shield, &bases->queue[at], timer->node.expires);
			if (is_masked(shield, at))
				held[context] = min(held[context], expires);
			else
				first[context] = min(first[context], expires > now ?
						     max(expires, now + SHIELD_GAP) : now + gap);
		}
	}
	raw_spin_unlock(&bases->base.lock);

	for (context = 0; context < CONTEXTS; context++) {
		held[context] = max(held[context], READ_ONCE(shield->held));
		if (held[context] < KTIME_MAX - 2 * TICK_NSEC)
			first[context] = min(first[context],
					     max(roundup(held[context], TICK_NSEC) + TICK_NSEC,
						 now + gap));
		first[context] = max(first[context], 0);
	}
}

void shield_arm(struct shield *shield, enum shield_context context, ktime_t expires)
{
	struct hrtimer *proxy = &shield->proxy[context];

	if (shield->armed[context] == expires)
		return;
	shield->armed[context] = expires;
	if (expires == KTIME_MAX)
		hrtimer_try_to_cancel(proxy);
	else
		hrtimer_start(proxy, expires, context == SHIELD_HARD ?
			      HRTIMER_MODE_ABS_PINNED_HARD : HRTIMER_MODE_ABS_PINNED_SOFT);
}

static void rearm(struct shield *shield, ktime_t now, ktime_t gap)
{
	ktime_t first[SHIELD_CONTEXTS] = { KTIME_MAX, KTIME_MAX };
	int context;

	if (!shield->on)
		return;
	first_expiries(shield, now, gap, first);
	for (context = 0; context < CONTEXTS; context++)
		shield_arm(shield, context, first[context]);
	shield->empty = data_race(bitmap_empty(shield->bases->used, SHIELD_QUEUES));
}

static void rearm_now(struct shield *shield)
{
	shield->yields = false;
	rearm(shield, 0, 0);
}

static void set_level(struct shield *shield, int level)
{
	if (!shield->empty) {
		if (level < shield->level)
			shield->fallen = ktime_get();
		else if (!shield->level)
			shield->held = ktime_get();
	}
	shield->level = level;
}

/* Another task runs on this CPU now, or the same one at another level. */
void shield_switch(struct shield *shield, int level)
{
	if (shield->level == level && !shield->yields)
		return;
	set_level(shield, level);
	if (!shield->empty)
		rearm_now(shield);
}

/* What serve() goes by. */
struct service {
	struct shield *shield;
	ktime_t now;
	ktime_t until;		/* when one has to have expired */
	ktime_t above;		/* when the first timer of a higher level expires */
	int budget;
	bool released;		/* a timer whose level is not masked any more was among them */
	unsigned long flags;
};

/* Had a timer been masked that expires now? */
static void count(struct service *service, int at, ktime_t expired)
{
	struct shield_counters *counters = &service->shield->counters;
	bool held = is_masked(service->shield, at);

	expired = max(expired, READ_ONCE(service->shield->clock_set));
	if ((!held && expired >= service->shield->fallen) || expired > service->now)
		return;
	if (!held) {
		counters->released++;
		counters->interrupts += !service->released;
		service->released = true;
	}
	counters->masked++;
	counters->longest = max_t(u64, counters->longest, service->now - expired);
}

/* As the kernel's __run_hrtimer() does it, for readers without a lock. */
static void expire(struct hrtimer_clock_base *queue, struct hrtimer *timer, ktime_t now,
		   unsigned long flags)
{
	struct hrtimer_cpu_base *base = queue->cpu_base;
	enum hrtimer_restart (*function)(struct hrtimer *timer);
	enum hrtimer_restart restart;
	bool hard;

	queue->running = timer;
	raw_write_seqcount_barrier(&queue->seq);
	queue_del(queue, timer);
	WRITE_ONCE(timer->timer_queued, 0);
	function = ACCESS_PRIVATE(timer, function);
	raw_spin_unlock_irqrestore(&base->lock, flags);

	trace_timer(TRACE_EXPIRE_ENTRY, timer, now);
	hard = lockdep_hrtimer_enter(timer);
	restart = function(timer);
	lockdep_hrtimer_exit(hard);
	trace_timer(TRACE_EXPIRE_EXIT, timer, 0);

	raw_spin_lock_irq(&base->lock);
	if (restart != HRTIMER_NORESTART && !timer->timer_queued) {
		WRITE_ONCE(timer->timer_queued, 1);
		queue_add(queue, timer);
	}
	raw_write_seqcount_barrier(&queue->seq);
	queue->running = NULL;
}

#ifdef CONFIG_PREEMPT_RT
static void lock_expiry(struct hrtimer_cpu_base *base)
{
	spin_lock(&base->softirq_expiry_lock);
}

static void unlock_expiry(struct hrtimer_cpu_base *base)
{
	spin_unlock(&base->softirq_expiry_lock);
}

/* Let those in that wait for the end of a callback. */
static void yield_expiry(struct hrtimer_cpu_base *base, unsigned long flags)
{
	if (!atomic_read(&base->timer_waiters))
		return;
	raw_spin_unlock_irqrestore(&base->lock, flags);
	unlock_expiry(base);
	lock_expiry(base);
	raw_spin_lock_irq(&base->lock);
}
#else
static void lock_expiry(struct hrtimer_cpu_base *base) { }
static void unlock_expiry(struct hrtimer_cpu_base *base) { }
static void yield_expiry(struct hrtimer_cpu_base *base, unsigned long flags) { }
#endif

/* Whether to go on. */
static bool serve_queue(struct service *service, int at)
{
	struct shield *shield = service->shield;
	struct hrtimer_clock_base *queue = &shield->bases->queue[at];
	struct hrtimer *timer;

	while ((timer = first_timer(queue))) {
		ktime_t expires = queue_expiry(shield, queue, timer->node.expires);

		if (queue_expiry(shield, queue, hrtimer_get_softexpires(timer)) > service->until) {
			if (!is_masked(shield, at))
				service->above = min(service->above, expires);
			return true;
		}
		count(service, at, expires);
		expire(queue, timer, service->now + ktime_sub(timer->node.expires, expires),
		       service->flags);
		/* The kernel, too, may have queued it here meanwhile. */
		__set_bit(at, shield->bases->used);
		if (context_of(at) == SHIELD_SOFT)
			yield_expiry(queue->cpu_base, service->flags);
		if (!--service->budget ||
		    (service->above != KTIME_MAX && ktime_get() >= service->above))
			return false;
	}
	__clear_bit(at, shield->bases->used);
	return true;
}

/*
 * Expire at most @budget timers, those of the highest level first. Lower ones wait when one has
 * woken a task that should run, or a higher one expires. Masked ones wait for a tick and no
 * longer, whatever that woke, but no more than @budget of them in a tick interrupt the task.
 */
static void serve(struct shield *shield, enum shield_context context, int budget)
{
	struct service service = {
		.shield = shield, .now = ktime_get(), .above = KTIME_MAX, .budget = budget,
	};
	struct shield_bases *bases = shield->bases;
	int at, end, level = SHIELD_LEVELS;
	bool masked = false;

	raw_spin_lock_irqsave(&bases->base.lock, service.flags);
	for (end = SHIELD_QUEUES; (at = find_last_bit(bases->used, end)) != end; end = at) {
		if (context_of(at) != context)
			continue;
		service.until = service.now;
		if (is_masked(shield, at)) {
			service.until -= TICK_NSEC;
			if (READ_ONCE(shield->held) > service.until)
				break;
			masked = true;
		} else if (at / HRTIMER_MAX_CLOCK_BASES < level && service.budget < budget &&
			   need_resched()) {
			/* On to those that are masked. */
			at = shield->level * HRTIMER_MAX_CLOCK_BASES;
			continue;
		}
		level = at / HRTIMER_MAX_CLOCK_BASES;
		if (!serve_queue(&service, at))
			break;
	}
	if (masked)
		shield->held = rounddown(service.now, TICK_NSEC);
	raw_spin_unlock_irqrestore(&bases->base.lock, service.flags);
}

static enum hrtimer_restart hard_proxy(struct hrtimer *proxy)
{
	struct shield *shield = container_of(proxy, struct shield, proxy[SHIELD_HARD]);

	shield->armed[SHIELD_HARD] = KTIME_MAX;
	/* it may have changed its priority */
	set_level(shield, shield_masks(current));
	serve(shield, SHIELD_HARD, SHIELD_BATCH);
	shield->empty = data_race(bitmap_empty(shield->bases->used, SHIELD_QUEUES));
	if (shield->empty)
		return HRTIMER_NORESTART;
	/*
	 * What is left over has to wait a little: other interrupts get in, and the kernel does
	 * not take it for a hang. If a task that outranks them was woken it runs first.
	 */
	shield->yields = need_resched();
	rearm(shield, ktime_get(), shield->yields ? SHIELD_YIELD : SHIELD_GAP);
	return HRTIMER_NORESTART;
}

/* In a softirq; only PREEMPT_RT has such timers, and there it is a thread and preemptible. */
static enum hrtimer_restart soft_proxy(struct hrtimer *proxy)
{
	struct shield *shield = container_of(proxy, struct shield, proxy[SHIELD_SOFT]);
	struct hrtimer_cpu_base *base = &shield->bases->base;
	unsigned long flags;

	local_irq_save(flags);
	shield->armed[SHIELD_SOFT] = KTIME_MAX;
	local_irq_restore(flags);

	lock_expiry(base);
	serve(shield, SHIELD_SOFT, INT_MAX);
	unlock_expiry(base);

	local_irq_save(flags);
	rearm_now(shield);
	local_irq_restore(flags);
	return HRTIMER_NORESTART;
}

static void kicked(void *info)
{
	struct shield *shield = info;

	set_level(shield, shield_masks(current));
	rearm_now(shield);
}

/* Have a CPU look again at its queues and at who runs there. */
void shield_kick(int cpu)
{
	struct shield *shield = per_cpu_ptr(&shields, cpu);
	unsigned long flags;

	local_irq_save(flags);
	if (cpu == smp_processor_id()) {
		rearm_now(shield);
	} else {
		/* Several CPUs may do so at once. -EBUSY: it is on its way already */
		raw_spin_lock(&shield->bases->base.lock);
		smp_call_function_single_async(cpu, &shield->kick);
		raw_spin_unlock(&shield->bases->base.lock);
	}
	local_irq_restore(flags);
}

void shield_setup(struct shield *shield, int cpu)
{
	shield->bases = per_cpu(timershield_bases, cpu);
	shield->stock = per_cpu_ptr(timershield_stock, cpu);
	hrtimer_setup(&shield->proxy[SHIELD_HARD], hard_proxy, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_HARD);
	hrtimer_setup(&shield->proxy[SHIELD_SOFT], soft_proxy, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
	shield->armed[SHIELD_HARD] = KTIME_MAX;
	shield->armed[SHIELD_SOFT] = KTIME_MAX;
	INIT_CSD(&shield->kick, kicked, shield);
}

int shield_up(unsigned int cpu)
{
	struct shield *shield = per_cpu_ptr(&shields, cpu);

	local_irq_disable();
	shield->level = 0;
	shield->empty = true;
	shield->on = true;
	local_irq_enable();
	return 0;
}

/* On the CPU itself: it goes offline, or the shield goes. */
int shield_down(unsigned int cpu)
{
	struct shield *shield = per_cpu_ptr(&shields, cpu);

	local_irq_disable();
	shield->on = false;
	shield->armed[SHIELD_SOFT] = KTIME_MAX;
	local_irq_enable();
	/* waits for its callback, so that no callback of ours runs */
	hrtimer_cancel(&shield->proxy[SHIELD_SOFT]);

	local_irq_disable();
	queues_drain(shield);
	/* When its first timer goes, the kernel looks through all its queues for the next. */
	hrtimer_start(&shield->proxy[SHIELD_HARD], 0, HRTIMER_MODE_ABS_PINNED_HARD);
	hrtimer_try_to_cancel(&shield->proxy[SHIELD_HARD]);
	shield->armed[SHIELD_HARD] = KTIME_MAX;
	local_irq_enable();
	return 0;
}
