// SPDX-License-Identifier: GPL-2.0-only
/*
 * TimerShield: handing masked timers over to other CPUs. Part of hrtimer.c.
 *
 * What a CPU masks, others that run lower levels may serve. It offers the timers
 * that expire before its next event. A CPU that could serve the highest of them
 * now is asked; else the first whose threshold falls low enough takes them. It
 * moves them into its own queues, where they are timers like all.
 */
#ifdef CONFIG_SMP
/* CPUs that offer timers, of levels up to cpu_base->offer_level */
struct cpumask timershield_offers;

static void hrtimer_shield_take(struct irq_work *work);
static DEFINE_PER_CPU(struct irq_work, hrtimer_shield_takes) =
	IRQ_WORK_INIT_HARD(hrtimer_shield_take);

/* How many timers a CPU looks at and offers, and how many CPUs it looks at for each */
#define SHIELD_LOOK_MAX	32
#define SHIELD_OFFER_MAX 8
#define SHIELD_ASK_MAX	16
/* What is done with the lock of another CPU's base, and in one interrupt */
#define SHIELD_TAKE_MAX	8
#define SHIELD_SCAN_MAX	128
#define SHIELD_ROUNDS	4

/* May timers that are no single task's be served there? */
static bool hrtimer_shield_is_open(int cpu)
{
	return !cpu_is_isolated(cpu) && housekeeping_cpu(cpu, HK_TYPE_TIMER) &&
	       !cpu_shield_has(cpu);
}

/*
 * Would what a timer of this level wakes up run on a CPU with this threshold?
 * Ordinary tasks take turns.
 */
static bool hrtimer_shield_serves(u8 threshold, u8 level)
{
	return level > threshold || (level == threshold && level <= TIMERSHIELD_LEVEL_FAIR);
}

/*
 * Tell the CPU that runs the lowest level, if it could serve a timer of level
 * @level, to look at the offers. @cpus: those to choose from; NULL: all that are
 * open. Not @from, which offers it.
 */
static void hrtimer_shield_ask(const struct cpumask *cpus, u8 level, int from)
{
	unsigned int asked = 0;
	u8 lowest = U8_MAX;
	int cpu, best = -1;

	for_each_cpu_wrap(cpu, cpus ?: cpu_active_mask, from + 1) {
		struct hrtimer_cpu_base *cpu_base = &per_cpu(hrtimer_bases, cpu);
		u8 threshold = READ_ONCE(cpu_base->threshold);

		if (cpu == from || (!cpus && !hrtimer_shield_is_open(cpu)))
			continue;
		if (asked++ == SHIELD_ASK_MAX)
			break;
		if (threshold >= lowest || !hrtimer_shield_serves(threshold, level) ||
		    !cpu_active(cpu) || !READ_ONCE(cpu_base->shielded))
			continue;
		best = cpu;
		lowest = threshold;
		if (!lowest)
			break;
	}
	if (best >= 0)
		irq_work_queue_on(per_cpu_ptr(&hrtimer_shield_takes, best), best);
}

static bool hrtimer_shield_offers(int cpu)
{
	return cpumask_test_cpu(cpu, &timershield_offers);
}

/* The base is locked. A CPU that might serve the timers sees that, or is asked afterwards. */
static void hrtimer_shield_set_offer(struct hrtimer_cpu_base *cpu_base, u8 level)
{
	WRITE_ONCE(cpu_base->offer_level, level);
	cpumask_set_cpu(cpu_base->cpu, &timershield_offers);
	/* Pairs with timershield_fell() */
	smp_mb__after_atomic();
}

/* Where may a timer be served? NULL: on all CPUs that are open. */
static const struct cpumask *hrtimer_shield_cpus(struct hrtimer *timer)
{
	struct task_struct *task = timershield_sleeper(timer);

	return task ? task->cpus_ptr : NULL;
}

/* Offer timers up to a level, if they are not on offer already. The base is locked. */
static void hrtimer_shield_raise_offer(struct hrtimer_cpu_base *cpu_base, u8 level)
{
	if (!hrtimer_shield_offers(cpu_base->cpu) || cpu_base->offer_level < level)
		hrtimer_shield_set_offer(cpu_base, level);
}

/**
 * hrtimer_shield_offer - offer the masked timers that expire before the next event
 * @cpu_base: this CPU's, locked
 * @expires_next: its next event
 *
 * A CPU is asked for each of the first few that others may serve. If there are
 * more timers than are looked at, what those are is taken for what all are.
 */
void hrtimer_shield_offer(struct hrtimer_cpu_base *cpu_base, ktime_t expires_next)
{
	unsigned int active = cpu_base->active_bases, looked = 0, nr = 0;
	u8 level = TIMERSHIELD_LEVEL_NONE, seen = TIMERSHIELD_LEVEL_NONE;
	struct hrtimer *movable[SHIELD_OFFER_MAX];
	struct hrtimer_clock_base *base;

	for_each_active_base(base, cpu_base, active) {
		struct timerqueue_node *node = timerqueue_getnext(&base->active);

		for (; node && looked < SHIELD_LOOK_MAX; node = timerqueue_iterate_next(node)) {
			struct hrtimer *timer = container_of(node, struct hrtimer, node);

			if (hrtimer_expires_on(base, timer) >= expires_next)
				break;
			looked++;
			if (!hrtimer_masked(cpu_base, timer))
				continue;
			seen = max(seen, timer->level);
			if (!timer->movable)
				continue;
			level = max(level, timer->level);
			if (nr < SHIELD_OFFER_MAX)
				movable[nr++] = timer;
		}
	}
	if (looked == SHIELD_LOOK_MAX)
		level = seen;
	if (!level)
		return;

	hrtimer_shield_raise_offer(cpu_base, level);
	for (unsigned int i = 0; i < nr; i++)
		hrtimer_shield_ask(hrtimer_shield_cpus(movable[i]), movable[i]->level,
				   cpu_base->cpu);
	if (!nr)
		hrtimer_shield_ask(NULL, level, cpu_base->cpu);
}

/**
 * hrtimer_shield_offer_timer - offer a masked timer that could not be offered before
 * @cpu_base: any CPU's, locked
 * @base: the clock that the timer is queued at
 * @timer: it has been enqueued, or its level or its task's affinity has changed
 */
void hrtimer_shield_offer_timer(struct hrtimer_cpu_base *cpu_base,
				struct hrtimer_clock_base *base, struct hrtimer *timer)
{
	if (!hrtimer_masked(cpu_base, timer) ||
	    hrtimer_expires_on(base, timer) >= cpu_base->expires_next)
		return;
	hrtimer_shield_raise_offer(cpu_base, timer->level);
	hrtimer_shield_ask(hrtimer_shield_cpus(timer), timer->level, cpu_base->cpu);
}

/* The base is locked, what it masks is about to be looked at again. */
static void hrtimer_shield_withdraw(struct hrtimer_cpu_base *cpu_base)
{
	if (unlikely(hrtimer_shield_offers(cpu_base->cpu)))
		cpumask_clear_cpu(cpu_base->cpu, &timershield_offers);
}

/**
 * __timershield_fell - this CPU's threshold has fallen, and there are offers
 * @level: the threshold
 */
void __timershield_fell(u8 level)
{
	int cpu, this_cpu = smp_processor_id();

	/* On its way down it gets no interrupt: work queued now would stay queued for good. */
	if (!cpu_active(this_cpu))
		return;
	for_each_cpu(cpu, &timershield_offers) {
		u8 offer_level = READ_ONCE(per_cpu(hrtimer_bases, cpu).offer_level);

		if (cpu != this_cpu && hrtimer_shield_serves(level, offer_level)) {
			irq_work_queue(this_cpu_ptr(&hrtimer_shield_takes));
			return;
		}
	}
}

/* What a CPU has taken of another one's offer, and what is left of that */
struct shield_take {
	struct hrtimer	*timers[SHIELD_TAKE_MAX];
	u8		base[SHIELD_TAKE_MAX];
	unsigned int	nr;
	unsigned int	scanned;
	u8		left_level;
};

/* May a timer of another CPU be served on this one? If not, others are asked. */
static bool hrtimer_shield_takes_timer(struct shield_take *take, struct hrtimer_cpu_base *from,
				       struct hrtimer *timer, u8 threshold)
{
	const struct cpumask *cpus = hrtimer_shield_cpus(timer);
	int cpu = smp_processor_id();
	bool allowed = cpus ? cpumask_test_cpu(cpu, cpus) : hrtimer_shield_is_open(cpu);

	if (allowed && hrtimer_shield_serves(threshold, timer->level))
		return true;
	if (timer->level > take->left_level) {
		take->left_level = timer->level;
		hrtimer_shield_set_offer(from, timer->level);
	}
	hrtimer_shield_ask(cpus, timer->level, from->cpu);
	return false;
}

/*
 * Remove timers from another CPU's queues, which are locked. Like in
 * switch_hrtimer_base(), who wants to change them meanwhile waits until they
 * have a base again.
 */
static void hrtimer_shield_remove(struct shield_take *take, struct hrtimer_cpu_base *from,
				  u8 threshold)
{
	unsigned int active = from->active_bases;
	struct hrtimer_clock_base *base;

	for_each_active_base(base, from, active) {
		struct timerqueue_node *node = timerqueue_getnext(&base->active);

		while (node && take->nr < SHIELD_TAKE_MAX && take->scanned++ < SHIELD_SCAN_MAX) {
			struct hrtimer *timer = container_of(node, struct hrtimer, node);

			node = timerqueue_iterate_next(node);
			if (hrtimer_expires_on(base, timer) >= from->expires_next)
				break;
			if (!timer->movable || !hrtimer_masked(from, timer) ||
			    base->running == timer ||
			    !hrtimer_shield_takes_timer(take, from, timer, threshold))
				continue;
			debug_hrtimer_deactivate(timer);
			__remove_hrtimer(timer, base, HRTIMER_STATE_ENQUEUED, 0);
			WRITE_ONCE(timer->base, &migration_base);
			take->base[take->nr] = base->index;
			take->timers[take->nr++] = timer;
		}
	}
}

/* Add them to this CPU's queues, which are locked. */
static void hrtimer_shield_add(struct shield_take *take, struct hrtimer_cpu_base *to,
			       unsigned int from)
{
	for (unsigned int i = 0; i < take->nr; i++) {
		struct hrtimer *timer = take->timers[i];
		struct hrtimer_clock_base *base = &to->clock_base[take->base[i]];

		WRITE_ONCE(timer->base, base);
		trace_timershield_handover(timer, from, to->cpu);
		hrtimer_requeue(timer, base);
	}
	this_cpu_ptr(&timershield_stats)->taken += take->nr;
	hrtimer_shield_look(to);
}

/* Take what another CPU offers. True if there may be more. */
static bool hrtimer_shield_take_from(struct hrtimer_cpu_base *from, struct hrtimer_cpu_base *to)
{
	struct shield_take take = { .nr = SHIELD_TAKE_MAX };

	for (int round = 0; round < SHIELD_ROUNDS && take.nr == SHIELD_TAKE_MAX; round++) {
		take.nr = 0;
		take.scanned = 0;
		take.left_level = TIMERSHIELD_LEVEL_NONE;

		raw_spin_lock(&from->lock);
		hrtimer_shield_withdraw(from);
		if (from->shielded)
			hrtimer_shield_remove(&take, from, to->threshold);
		if (take.nr == SHIELD_TAKE_MAX)
			hrtimer_shield_set_offer(from, from->threshold - 1);
		raw_spin_unlock(&from->lock);

		if (take.nr) {
			raw_spin_lock(&to->lock);
			hrtimer_shield_add(&take, to, from->cpu);
			raw_spin_unlock(&to->lock);
		}
	}
	return take.nr == SHIELD_TAKE_MAX;
}

static void hrtimer_shield_take(struct irq_work *work)
{
	struct hrtimer_cpu_base *to = this_cpu_ptr(&hrtimer_bases);
	bool more = false;
	int cpu;

	for_each_cpu(cpu, &timershield_offers) {
		struct hrtimer_cpu_base *from = &per_cpu(hrtimer_bases, cpu);

		if (from == to)
			continue;
		if (to->shielded && to->online && cpu_active(to->cpu))
			more |= hrtimer_shield_take_from(from, to);
		else
			hrtimer_shield_ask(NULL, READ_ONCE(from->offer_level), cpu);
	}
	/* Let others have the CPU in between. */
	if (more)
		irq_work_queue(work);
}
#else
static inline void hrtimer_shield_withdraw(struct hrtimer_cpu_base *cpu_base) { }
#endif
