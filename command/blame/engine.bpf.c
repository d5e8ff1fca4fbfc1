// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The accounting: every moment of a CPU belongs to the innermost thing that it does. The
 * functions are called for events, with a time that never goes back much on a CPU.
 *
 * Whoever includes this provides: config, lost; the stores rows, victims, jobs_of, armed, works and
 * targets; the macros LOOKUP(store, key), INSERT(store, key, value), which fails if it is there
 * or there is no room, PUT(), which replaces, REMOVE(store, key), ADD(counter, number),
 * LOOP(count, function, argument), FIND_CPU(number), WHY_THROTTLED(victim): an enum throttle if it
 * is ready and not allowed to run; IS_SERVED(task): whether the fair server chose this task_struct;
 * TAKE_STACK(context): the number of a stack + 1; LINK(tid): of a thread; SUBPROGRAM: a function
 * that is verified once, for any arguments, and not for each call. Before 6.6 no key of a store may
 * be in what its arguments point to.
 */
#include "blame_types.h"
#include "episode.h"

/* The stack has no room for them. */
static const struct jobs no_jobs;
static const struct victim no_victim;

/* A function of its own, for the kernel allows 512 bytes of stack in all. */
SUBPROGRAM int add_row(u32 victim, const struct cause *cause, const struct who *who, u64 time,
		       u32 count)
{
	struct row *row, fresh = { .count = count, .total = time, .longest = time };
	struct cause key;

	if (!cause || !who)
		return 0;
	key = *cause;
	key.victim = victim;
	row = LOOKUP(rows, &key);
	if (!row) {
		fresh.who = *who;
		if (INSERT(rows, &key, &fresh))
			ADD(lost.rows, 1);
		return 0;
	}
	row->count += count;
	row->total += time;
	if (time > row->longest)
		row->longest = time;
	row->who = *who;		/* it may have been renamed, its priority changed */
	return 0;
}

/* Time until NOW was taken from the victim; it is all in cpu->recent. */
inline_always void extend_episode(struct cpu *cpu, struct victim *victim, u32 id, u64 start,
				  u64 now)
{
	u64 length, gap = EPISODE_GAP_NS;

	/* of which we know only about how long they take */
	if (cpu->frames[cpu->depth & (MAX_DEPTH - 1)].kind == FRAME_FAULT)
		gap += 3 * config.fault_overhead;
	if (start > cpu->episode_end + gap || id != cpu->episode_victim) {
		keep_episode(cpu, config.over);
		cpu->episode_start = start;
		cpu->over = 0;
		victim->episodes++;
	}
	cpu->episode_end = now;
	cpu->episode_victim = id;
	length = now - cpu->episode_start;
	if (length > victim->longest)
		victim->longest = length;
	if (config.over && length > config.over && !cpu->over) {
		cpu->over = 1;
		victim->over++;
	}
}

/* Accounts for the time until now. EXTRA was taken too, but no event covers it. */
SUBPROGRAM int cut(struct cpu *cpu, u64 now, u64 extra)
{
	struct frame *frame;
	struct segment *segment;
	struct victim *victim;
	u64 start, time;
	u32 first, id;

	if (!cpu)
		return 0;
	id = cpu->victim;
	frame = &cpu->frames[cpu->depth & (MAX_DEPTH - 1)];
	start = cpu->last;
	if (now < start)
		now = start;
	cpu->last = now;
	if (!start)
		return 0;
	time = now - start;
	first = !frame->counted;
	frame->counted = 1;
	segment = &cpu->recent[cpu->head++ & (RECENT_SEGMENTS - 1)];
	segment->start = start;
	segment->end = now;
	segment->cause = frame->cause;
	segment->who = frame->who;
	segment->picked = cpu->picked;
	segment->ready = cpu->ready;
	segment->task = cpu->frames[0].who.tid;
	segment->base = cpu->frames[0].who.tid ? cpu->frames[0].who.priority : BASE_IDLE;
	segment->first = first;
	segment->chosen = cpu->chosen;
	victim = id ? LOOKUP(victims, &id) : 0;
	if (!victim)
		return 0;
	if (!cpu->depth && !cpu->kernel_thread) {
		victim->ran += time;
		return 0;
	}
	if (extra > victim->ran)
		extra = 0;
	victim->ran -= extra;
	victim->taken += time + extra;
	add_row(id, &frame->cause, &frame->who, time + extra, first);
	extend_episode(cpu, victim, id, start, now + extra);
	return 0;
}

/* For the timeline: what was the matter with a victim, among what its CPU did. */
inline_always void mark(struct cpu *cpu, const struct cause *cause, const struct who *who,
			u32 victim, u64 start, u64 end)
{
	struct segment *segment = &cpu->recent[cpu->head++ & (RECENT_SEGMENTS - 1)];

	__builtin_memset(segment, 0, sizeof(*segment));
	segment->start = start;
	segment->end = end;
	segment->cause = *cause;
	segment->cause.victim = victim;
	segment->who = *who;
}

struct wait_context {
	struct cpu *cpu;
	struct victim *victim;
	u64 since;
	u32 id, unused;
};

/*
 * The scheduler picks the task of the highest level. If it picked a lower one while another was
 * on the queue, that one was not allowed to run.
 */
inline_always u32 why_passed_over(s32 priority, u64 ready, const struct segment *segment)
{
	if (priority >= 0 && priority < 100 && segment->base >= 100 &&
	    segment->chosen & CHOSEN_BY_SERVER)
		return THROTTLE_SERVER;
	if (!segment->picked || segment->picked < ready)
		return 0;
	if (priority < 0)
		return segment->base >= 0 ? THROTTLE_DEADLINE : 0;
	if (priority < 100)
		return segment->base < 100 ? 0 : THROTTLE_EITHER;
	return segment->base == BASE_IDLE ? THROTTLE_QUOTA : 0;
}

/* A wait counts once, and is as long as all of its parts. */
inline_always void blame_throttle(struct victim *victim, u32 id, u32 why, u64 time)
{
	struct cause cause = { .victim = id, .kind = CAUSE_THROTTLED, .id = why };
	struct row *row;

	add_row(id, &cause, &victim->who, time, !victim->counted);
	victim->counted = why;
	victim->throttled_for += time;
	row = LOOKUP(rows, &cause);
	if (row && victim->throttled_for > row->longest)
		row->longest = victim->throttled_for;
}

static long blame_segment(u32 i, void *argument)
{
	struct wait_context *wait = argument;
	struct cpu *cpu = wait->cpu;
	const struct segment *segment = &cpu->recent[(cpu->head - 1 - i) & (RECENT_SEGMENTS - 1)];
	u64 start = segment->start > wait->since ? segment->start : wait->since;
	u32 why = why_passed_over(wait->victim->priority, wait->victim->ready, segment);

	if (segment->cause.victim)
		return 0;
	if (segment->end <= wait->since)
		return 1;
	if (why)
		blame_throttle(wait->victim, wait->id, why, segment->end - start);
	else
		add_row(wait->id, &segment->cause, &segment->who, segment->end - start,
			segment->first || start > segment->start);
	return start == wait->since;
}

/* From when on nobody has been blamed yet for a wait. */
inline_always u64 not_blamed(const struct victim *victim)
{
	return victim->since > victim->blamed ? victim->since : victim->blamed;
}

/* A victim has waited until NOW: what did this CPU do meanwhile? */
inline_always void blame_wait(struct cpu *cpu, struct victim *victim, u32 id, u64 now)
{
	struct wait_context wait = {
		.cpu = cpu, .victim = victim, .since = not_blamed(victim), .id = id,
	};

	if (wait.since >= now)
		return;
	victim->taken += now - wait.since;
	if (victim->throttled)
		blame_throttle(victim, id, victim->throttled, now - wait.since);
	else
		LOOP(RECENT_SEGMENTS, blame_segment, &wait);
	victim->blamed = now;
}

/* It begins to wait, on the queue. */
inline_always void begin_wait(struct victim *victim, s32 priority, u64 now)
{
	victim->ready = now;
	victim->priority = priority;
	victim->counted = 0;
	victim->throttled_for = 0;
	victim->throttled = WHY_THROTTLED(victim);
}

SUBPROGRAM int follow_quota_of(struct cpu *cpu, u32 id, u64 now)
{
	u32 why = 0, slot = LIMITED;
	struct victim *victim;

	if (!cpu)
		return 0;
	victim = LOOKUP(victims, &id);
	if (victim && victim->since && victim->cpu == cpu->number) {
		why = WHY_THROTTLED(victim);
		if (why != victim->throttled)
			blame_wait(cpu, victim, id, now);
		victim->throttled = why;
	}
	for (u32 i = 0; i < LIMITED; i++)
		if (cpu->limited[i] == id || (!cpu->limited[i] && slot == LIMITED))
			slot = i;
	if (slot < LIMITED && (cpu->limited[slot] == id) != !!why) {
		cpu->nr_limited += why ? 1 : -1;
		cpu->limited[slot] = why ? id : 0;
	}
	return 0;
}

static long follow_limited(u32 i, void *argument)
{
	struct wait_context *wait = argument;
	u32 id = wait->cpu->limited[i & (LIMITED - 1)];

	if (id && id != wait->cpu->waiting)
		follow_quota_of(wait->cpu, id, wait->since);
	return 0;
}

/* What one that waits may use may be used up by now, or there may be more of it. */
inline_always void follow_quota(struct cpu *cpu, u64 now)
{
	struct wait_context wait = { .cpu = cpu, .since = now };

	/* others may wait for their turns meanwhile, and take its place in WAITING */
	if (cpu->nr_limited)
		LOOP(LIMITED, follow_limited, &wait);
	if (cpu->waiting)
		follow_quota_of(cpu, cpu->waiting, now);
}

/* It waits no more. The other one, of a lower level, may go on waiting. */
inline_always void leave_wait(struct cpu *cpu, u32 id)
{
	if (cpu->below == id)
		cpu->below = 0;
	if (cpu->waiting != id)
		return;
	cpu->waiting = cpu->below;
	cpu->waiting_priority = cpu->below_priority;
	cpu->below = 0;
}

/* Before RECENT forgets what happened while a victim waits; a little at a time. */
SUBPROGRAM int flush_wait(struct cpu *cpu)
{
	struct victim *victim;
	u32 id;

	if (!cpu || !cpu->waiting || cpu->head - cpu->flushed < FLUSH_SEGMENTS)
		return 0;
	cpu->flushed = cpu->head;
	id = cpu->waiting;
	victim = LOOKUP(victims, &id);
	if (victim && victim->since && victim->cpu == cpu->number)
		blame_wait(cpu, victim, id, cpu->last);
	else
		leave_wait(cpu, id);
	return 0;
}

/* It costs time, of whatever runs: of those that wait only for the one of the highest level. */
inline_always void expect_wait(struct cpu *cpu, const struct victim *victim, u32 id)
{
	if (!cpu || (cpu->waiting && cpu->waiting_priority < victim->who.priority))
		return;
	if (cpu->waiting && cpu->waiting != id) {
		cpu->below = cpu->waiting;
		cpu->below_priority = cpu->waiting_priority;
	}
	cpu->waiting = id;
	cpu->waiting_priority = victim->who.priority;
	cpu->frames[0].counted = 0;	/* from now on what runs is counted for this wait */
}

/* A softirq counts for the device that it polls: not yet if it is interrupted before. */
inline_always u32 is_to_poll(const struct frame *frame)
{
	return frame->cause.kind == CAUSE_SOFTIRQ && frame->cause.id == NET_RX && !frame->cause.how;
}

inline_always void push(struct cpu *cpu, u64 now, u32 kind, u32 cause, u32 id)
{
	struct frame *frame = &cpu->frames[cpu->depth & (MAX_DEPTH - 1)];

	if (is_to_poll(frame))
		frame->counted = 1;
	cut(cpu, now, 0);
	if (is_to_poll(frame))
		frame->counted = 0;
	flush_wait(cpu);
	if (cpu->depth >= MAX_DEPTH - 1)
		return;
	if (!cpu->depth)
		cpu->entered = now;
	cpu->depth++;
	frame = &cpu->frames[cpu->depth & (MAX_DEPTH - 1)];
	__builtin_memset(frame, 0, sizeof(*frame));
	frame->kind = kind;
	frame->cause.kind = cause;
	frame->cause.id = id;
}

/* Ends the innermost thing of that kind. One that began before us is not there. */
inline_always void pop(struct cpu *cpu, u64 now, u32 kind)
{
	struct frame *frame = &cpu->frames[cpu->depth & (MAX_DEPTH - 1)];

	if (!cpu->depth || frame->kind != kind)
		return;
	cut(cpu, now, kind == FRAME_FAULT ? config.fault_overhead :
	    cpu->depth == 1 && kind != FRAME_SOFTIRQ ? config.interrupt_overhead : 0);
	cpu->depth--;
	if (!cpu->depth)
		cpu->left = cpu->last;
}

/* To be called before the time of a pop() is read: what this takes then is in the frame. */
inline_always void before_pop(struct cpu *cpu)
{
	if (cpu->depth == 1)
		follow_quota(cpu, cpu->last);
}

/* The innermost frame does something that has a name, perhaps not the first such thing. */
inline_always struct frame *name_frame(struct cpu *cpu, u64 now, u32 cause, u64 function)
{
	struct frame *frame;

	if (!cpu->depth)
		return 0;
	frame = &cpu->frames[cpu->depth & (MAX_DEPTH - 1)];
	if (frame->named) {
		cut(cpu, now, 0);
		flush_wait(cpu);
		frame->counted = 0;
	}
	frame->named = 1;
	frame->owner = OWNER_NONE;
	frame->due = 0;
	__builtin_memset(&frame->cause, 0, sizeof(frame->cause));
	__builtin_memset(&frame->who, 0, sizeof(frame->who));
	frame->cause.kind = cause;
	frame->cause.function = function;
	return frame;
}

/*
 * DEVICE has just been polled: for that was the time since NET_RX began, or polled another one. So
 * is what NET_RX does after it, until it polls again.
 */
inline_always void on_poll(struct cpu *cpu, u64 now, const struct who *device, u32 id)
{
	struct frame *frame = &cpu->frames[cpu->depth & (MAX_DEPTH - 1)];

	if (!cpu->depth || frame->cause.kind != CAUSE_SOFTIRQ || frame->cause.id != NET_RX)
		return;
	frame->cause.how = id;
	frame->who = *device;
	frame->counted = 0;
	cut(cpu, now, 0);
	flush_wait(cpu);
}

inline_always u32 how_armed(u64 function)
{
	for (u32 i = 0; i < OWNED_FUNCTIONS; i++)
		if (config.owned[i] == function)
			return config.owned_how[i];
	return 0;
}

/* DUE: 0 if it is not known. */
inline_always void on_timer(struct cpu *cpu, u64 now, u64 timer, u64 function, u64 due, u64 slack)
{
	struct frame *frame;
	struct armed *by;
	u32 how;

	/* a clock event device whose interrupt has no event of its own */
	if (!cpu->depth)
		push(cpu, now, FRAME_TIMER, CAUSE_TIMER_IRQ, 0);
	frame = name_frame(cpu, now, CAUSE_KERNEL_TIMER, function);
	how = function ? how_armed(function) : 0;
	if (!frame || !how)
		return;
	frame->cause.kind = CAUSE_TIMER;
	frame->cause.how = how << HOW_SHIFT;
	frame->due = due;
	frame->slack = slack;
	by = how == HOW_SLEEP || how == HOW_PERF ? 0 : LOOKUP(armed, &timer);
	if (by) {
		frame->who = by->who;
		frame->cause.id = by->who.tid;
		frame->owner = OWNER_ARMED;
	}
}

/* A timer of the kernel's wheel; that of a task that waits with a timeout is the task's. */
inline_always void on_wheel(struct cpu *cpu, u64 now, u64 function)
{
	struct frame *frame = name_frame(cpu, now, CAUSE_WHEEL, function);
	u32 how = frame ? how_armed(function) : 0;

	if (!how)
		return;
	frame->cause.kind = CAUSE_TIMER;
	frame->cause.how = how << HOW_SHIFT;
}

/* By such a timer: it is there for this work. */
inline_always void on_work_queued(struct cpu *cpu, u64 function)
{
	struct frame *frame = &cpu->frames[cpu->depth & (MAX_DEPTH - 1)];

	if (cpu->depth && frame->cause.kind == CAUSE_WHEEL && !frame->cause.id) {
		frame->cause.id = 1;
		frame->cause.function = function;
	}
}

inline_always void own_frame(struct cpu *cpu, const struct who *who, u32 owner, u32 call)
{
	struct frame *frame = &cpu->frames[cpu->depth & (MAX_DEPTH - 1)];

	if (!cpu->depth || frame->cause.kind != CAUSE_TIMER || frame->owner >= owner)
		return;
	frame->owner = owner;
	frame->who = *who;
	frame->cause.id = who->tid;
	if (frame->cause.how >> HOW_SHIFT == HOW_SLEEP)
		frame->cause.how = HOW_SLEEP << HOW_SHIFT | (call & 0xffff);
}

/* An IPI runs a function that another CPU, perhaps, had queued with this descriptor. */
inline_always void on_call(struct cpu *cpu, u64 now, u64 function, u64 descriptor)
{
	struct frame *frame = &cpu->frames[cpu->depth & (MAX_DEPTH - 1)];
	u32 ipi = frame->cause.id;
	struct armed *by;

	if (!cpu->depth || frame->cause.kind != CAUSE_IPI)
		return;
	frame = name_frame(cpu, now, CAUSE_IPI, function);
	if (!frame)
		return;
	frame->cause.id = ipi;
	by = LOOKUP(armed, &descriptor);
	if (by) {
		frame->who = by->who;
		frame->cause.how = by->who.tid;
	}
}

inline_always int cpu_is_watched(u32 number)
{
	return !config.cpu_limited || (config.cpus[number / 64 & 127] >> number % 64 & 1);
}

inline_always int is_victim(const struct who *who, u32 flags)
{
	if (!who->tid || flags & IS_KTHREAD)
		return 0;
	if (config.victims_are != VICTIMS_TARGETS &&
	    (who->tid == config.self || who->tgid == config.self))
		return 0;
	if (config.realtime && who->priority >= 100)
		return 0;
	return config.victims_are == VICTIMS_ALL ||
	       (config.victims_are == VICTIMS_TARGETS &&
		(LOOKUP(targets, &who->tid) || (who->tgid && LOOKUP(targets, &who->tgid))));
}

inline_always struct victim *make_victim(u32 id, const struct who *who)
{
	struct victim *victim = LOOKUP(victims, &id);

	if (victim)
		return victim;
	if (INSERT(victims, &id, &no_victim))
		ADD(lost.victims, 1);
	victim = LOOKUP(victims, &id);
	if (victim) {
		victim->who = *who;
		victim->highest = who->priority;
	}
	return victim;
}

/* It may have been renamed, raised or demoted while it ran. */
inline_always void know_victim(struct victim *victim, const struct who *who)
{
	victim->who = *who;
	if (victim->highest > who->priority)
		victim->highest = who->priority;
}

/*
 * A task that is preempted right after an interrupt was not left alone in between: since
 * then the scheduler worked. Returns when that began, else NOW.
 */
inline_always u64 begin_preemption(struct cpu *cpu, u64 now)
{
	struct frame *frame = &cpu->frames[0];
	struct victim *victim;
	u64 start = cpu->last;

	if (cpu->depth || start != cpu->left || now < start || now - start > SWITCH_AT_MOST_NS)
		return now;
	frame->cause.kind = CAUSE_SWITCH;
	frame->cause.id = 0;
	frame->counted = 1;
	victim = LOOKUP(victims, &cpu->victim);
	if (victim && now > start)
		victim->ran -= now - start;	/* cut() is going to add it */
	return start;
}

/* A row keeps the stack of the longest TIME. */
SUBPROGRAM int set_stack(u32 victim, const struct cause *cause, u32 stack, u64 time)
{
	struct cause key;
	struct row *row;

	if (!cause)
		return 0;
	key = *cause;
	key.victim = victim;
	row = stack ? LOOKUP(rows, &key) : 0;
	if (row && time >= row->longest)
		row->stack = stack;
	return 0;
}

/* It runs again. */
inline_always void end_wait(struct cpu *cpu, struct victim *victim, u32 id, u64 now,
			    int preempted)
{
	struct cause cause = { .kind = CAUSE_SWITCH };

	blame_wait(cpu, victim, id, now);
	if (preempted && config.switch_overhead && victim->ran > config.switch_overhead) {
		victim->ran -= config.switch_overhead;
		victim->taken += config.switch_overhead;
		add_row(id, &cause, &victim->who, config.switch_overhead, 1);
	}
	if (victim->throttled_for) {
		cause.kind = CAUSE_THROTTLED;
		cause.id = victim->counted;
		mark(cpu, &cause, &victim->who, id, victim->since,
		     victim->since + victim->throttled_for);
	}
	extend_episode(cpu, victim, id, victim->since, now);
	victim->since = 0;
}

/* It runs, on a CPU that is not looked at. */
inline_always void end_unseen(u32 id)
{
	struct victim *victim = LOOKUP(victims, &id);

	if (victim) {
		victim->since = 0;
		victim->queued = NOT_QUEUED;
	}
}

inline_always void set_task(struct cpu *cpu, const struct who *who, u32 flags)
{
	struct frame *frame = &cpu->frames[0];
	u64 *work;

	cpu->depth = 0;
	frame->cause.kind = CAUSE_TASK;
	frame->cause.id = who->tid;
	frame->cause.function = 0;
	frame->who = *who;
	frame->counted = 0;
	cpu->known = 1;
	work = flags & IS_KWORKER ? LOOKUP(works, &who->tid) : 0;
	if (work) {
		frame->cause.kind = CAUSE_WORK;
		frame->cause.function = *work;
	}
}

/* What runs may have become a victim without a switch. */
inline_always int is_to_learn(const struct cpu *cpu)
{
	return !cpu->known || (config.realtime && !cpu->victim && !cpu->depth);
}

/* What runs is known from its first event, not only from the first switch to it. */
inline_always void learn_task(struct cpu *cpu, u32 number, const struct who *who, u32 flags,
			      u64 task)
{
	struct victim *victim;

	if (!cpu->known) {
		cpu->number = number;
		set_task(cpu, who, flags);
		if (cpu->events == 1)
			cpu->last = config.started;	/* else there had been an event */
	}
	if (!cpu_is_watched(number))
		return;
	if (config.victims_are == VICTIMS_CPUS)
		cpu->victim = who->tid && !(flags & IS_KTHREAD) ? VICTIM_CPU | number : 0;
	else
		cpu->victim = is_victim(who, flags) ? who->tid : 0;
	if (cpu->victim) {
		victim = make_victim(cpu->victim, who);
		if (victim && config.victims_are != VICTIMS_CPUS) {
			victim->cpu = number;
			victim->task = task;
		}
	}
}

inline_always void switch_cpu_victim(struct cpu *cpu, u32 number, int runnable,
				     const struct who *next, u32 flags)
{
	u32 robbed = cpu->victim && (runnable || cpu->kernel_thread);

	cpu->kernel_thread = !!(flags & IS_KTHREAD);
	cpu->victim = next->tid && (!cpu->kernel_thread || robbed) ? VICTIM_CPU | number : 0;
	if (cpu->victim)
		make_victim(cpu->victim, next);
}

/* It is about to leave the CPU, still ready: the quota of its group is used up. */
inline_always void on_quota_used(struct cpu *cpu, u32 tid)
{
	cpu->without_quota[tid & (LIMITED - 1)] = tid;
}

inline_always u32 class_of(u64 time)
{
	u32 power = 0;

	for (u32 shift = 16; shift; shift /= 2)
		if (time >> (power + shift))
			power += shift;
	return (power < 2 ? time : power * 4 + (time >> (power - 2) & 3)) & (JOB_CLASSES - 1);
}

/* What it has done since it was due is all of a job. */
SUBPROGRAM int add_job(u32 id, struct victim *victim, u64 now)
{
	struct jobs *jobs;
	u64 own, length;

	if (!victim)
		return 0;
	jobs = LOOKUP(jobs_of, &id);
	if (!jobs) {
		INSERT(jobs_of, &id, &no_jobs);
		jobs = LOOKUP(jobs_of, &id);
	}
	if (!jobs)
		return 0;
	own = victim->ran - victim->woken_ran;
	length = now - victim->due;
	if (jobs->due && victim->due > jobs->due &&
	    (!jobs->period || victim->due - jobs->due < jobs->period))
		jobs->period = victim->due - jobs->due;
	jobs->due = victim->due;
	if (victim->told ? victim->told_late :
	    length > (config.over ? config.over : jobs->period ? jobs->period : ~0ull))
		jobs->late++;
	jobs->own += own;
	if (!jobs->count++ || own < jobs->least)
		jobs->least = own;
	if (own > jobs->most)
		jobs->most = own;
	jobs->classes[class_of(own)]++;
	if (length > jobs->longest) {
		jobs->longest = length;
		jobs->longest_own = own;
		jobs->longest_waited = victim->waited - victim->woken_waited;
	}
	return 0;
}

inline_always int has_jobs(const struct victim *victim)
{
	return victim->releases >= RELEASES;
}

/* It sleeps: for the next job, inside this one, or nobody knows. Returns how. */
SUBPROGRAM u32 end_job(struct cpu *cpu, struct victim *victim, u64 now, u32 sleep)
{
	u64 call;

	if (!cpu || !victim)
		return sleep;
	call = cpu->call;
	victim->call = call;
	if (victim->due && has_jobs(victim) && (u32)call && call != victim->release)
		return sleep >> HOW_SHIFT ? sleep : SLEEP_WAIT << HOW_SHIFT | sleep;
	if (sleep >> HOW_SHIFT)
		return sleep;
	if (victim->due && has_jobs(victim))
		add_job(cpu->victim, victim, now);
	victim->due = 0;
	victim->told_late = 0;
	victim->handlers = 0;
	return sleep;
}

/* A sleep on purpose is over. A timer that ends the same one again and again begins jobs. */
inline_always void begin_job(const struct cpu *cpu, struct victim *victim, u64 now)
{
	const struct frame *frame = &cpu->frames[cpu->depth & (MAX_DEPTH - 1)];
	u64 due = cpu->depth ? frame->due : 0;

	victim->woken = due ? due : now;
	victim->woken_ran = victim->ran;
	victim->woken_waited = victim->waited;
	victim->released_by = due ? frame->cause.how >> HOW_SHIFT : 0;
	if (due && !victim->told) {
		if (victim->call == victim->release) {
			victim->releases++;
			victim->strange = 0;
		} else if (!has_jobs(victim) || ++victim->strange > STRANGE_RELEASES) {
			victim->release = victim->call;
			victim->releases = 1;
			victim->strange = 0;
		}
	}
	if (has_jobs(victim) && victim->call == victim->release && (due || victim->told))
		victim->due = victim->woken;
}

/* It says so itself, from now on: the sleep that was the last one is that before a job. */
inline_always void on_job(const struct cpu *cpu, int late)
{
	struct victim *victim = LOOKUP(victims, &cpu->victim);

	if (!victim)
		return;
	if (late) {
		victim->told_late = 1;
		return;
	}
	victim->told = 1;
	victim->releases = RELEASES;
	if (!victim->due)
		victim->release = victim->call;
	if (!victim->due && victim->woken)
		victim->due = victim->woken;
}

/* A handler of the victim's begins in a job, and is no part of that; but if it does the job. */
inline_always void on_signal(struct cpu *cpu, u64 now, u32 id, u32 how)
{
	struct victim *victim = LOOKUP(victims, &cpu->victim);

	if (!victim || !victim->due || victim->released_by == HOW_POSIX ||
	    victim->released_by == HOW_ITIMER || victim->released_by == HOW_ALARM)
		return;
	cut(cpu, now, 0);
	if (victim->handlers++)
		return;
	victim->handler_ran = victim->ran;
	victim->handler_id = id;
	victim->handler_how = how;
}

inline_always void end_handler(struct cpu *cpu, u64 now)
{
	struct victim *victim = LOOKUP(victims, &cpu->victim);
	struct cause cause = { .kind = CAUSE_SIGNAL };
	u64 time;

	if (!victim || !victim->handlers || --victim->handlers)
		return;
	cut(cpu, now, 0);
	time = victim->ran - victim->handler_ran;
	victim->ran -= time;
	victim->taken += time;
	cause.id = victim->handler_id;
	cause.how = victim->handler_how;
	add_row(cpu->victim, &cause, &victim->who, time, 1);
}

/*
 * PREVIOUS: its number alone, if it is no victim. SLEEP: how it sleeps, if it does, in cpu->call with its
 * first argument. READY: NEXT waited for a CPU since then.
 */
inline_always void on_switch(struct cpu *cpu, void *context, u32 number, u64 now,
			     const struct who *previous, int runnable,
			     const struct who *next, u32 flags, u64 task, u64 ready, u32 sleep)
{
	struct victim *victim;
	s32 priority = cpu->frames[0].who.priority;
	u64 since = now;
	int preempted;

	if (runnable && previous->tid && cpu->victim == previous->tid)
		since = begin_preemption(cpu, now);
	cut(cpu, now, 0);
	cpu->late.kept = cpu->frames[0].cause;	/* the stack has no room for it */
	set_task(cpu, next, flags);
	cpu->picked = now;
	cpu->ready = ready;
	cpu->chosen = next->tid && next->priority >= 100 && IS_SERVED(task) ? CHOSEN_BY_SERVER : 0;
	if (next->tid && cpu->without_quota[next->tid & (LIMITED - 1)] == next->tid) {
		cpu->without_quota[next->tid & (LIMITED - 1)] = 0;
		cpu->chosen |= CHOSEN_WITH_QUOTA;
	}
	leave_wait(cpu, next->tid);
	follow_quota(cpu, now);
	if (config.victims_are == VICTIMS_CPUS) {
		if (cpu_is_watched(number))
			switch_cpu_victim(cpu, number, runnable, next, flags);
		return;
	}
	if (cpu->victim == previous->tid) {
		victim = LOOKUP(victims, &cpu->victim);
		runnable = runnable && is_victim(previous, 0);
		if (victim) {
			if (!config.realtime || previous->priority < 100)
				know_victim(victim, previous);
			victim->since = runnable ? since : 0;
			victim->queued = runnable ? PREEMPTED : NOT_QUEUED;
			victim->slept = runnable ? 0 : now;
			if (victim->slept)
				victim->sleep = end_job(cpu, victim, now, sleep);
			if (runnable) {
				begin_wait(victim, previous->priority, since);
				expect_wait(cpu, victim, cpu->victim);
			}
		}
	}
	cpu->victim = cpu_is_watched(number) && is_victim(next, flags) ? next->tid : 0;
	if (!cpu->victim) {
		if (config.cpu_limited)
			end_unseen(next->tid);
		return;
	}
	victim = make_victim(cpu->victim, next);
	if (!victim)
		return;
	preempted = victim->queued == PREEMPTED;
	victim->queued = RUNNING;
	victim->cpu = number;
	victim->task = task;
	know_victim(victim, next);
	if (victim->since && victim->since < now) {
		end_wait(cpu, victim, next->tid, now, preempted);
		/* it was not preempted at once: where did it give way? */
		if (victim->priority < 100 && priority >= 100 && now - victim->ready > STAY_NS)
			set_stack(next->tid, &cpu->late.kept, TAKE_STACK(context), now - victim->ready);
	}
	victim->since = 0;
}

/* Adds up what kept the victim away at a stretch, a task or WHY. SEGMENT 0: that was all. */
SUBPROGRAM int blame_kept(struct cpu *cpu, const struct segment *segment, u32 kind, u32 why,
			  u64 time)
{
	struct lateness *late;
	u32 id;

	if (!cpu)
		return 0;
	late = &cpu->late;
	id = why ? why : segment ? segment->cause.id : 0;
	if (late->kept_time && (!segment || id != late->kept.id || kind != late->kept.kind)) {
		add_row(late->victim, &late->kept, &late->kept_who, late->kept_time, 1);
		set_stack(late->victim, &late->kept, late->stack, late->kept_time);
		late->kept_time = 0;
	}
	if (!segment)
		return 0;
	__builtin_memset(&late->kept, 0, sizeof(late->kept));
	late->kept.kind = kind;
	late->kept.id = id;
	late->kept.how = kind == CAUSE_IRQS_OFF ? 0 : late->waker.tid;
	late->kept.function = kind == CAUSE_KEPT ? late->needed : 0;
	late->kept_who = why ? late->waker : segment->who;
	late->kept_time += time;
	return 0;
}

/* It was blocked by WAKER until then, from when on there are rows for that already. */
inline_always void blame_waker(struct lateness *late, u64 since)
{
	struct cause cause = late->cause;
	u64 rest = since - late->since;

	if (late->own <= rest)
		return;
	cause.id = late->waker.tid;
	cause.function = late->needs;
	add_row(late->victim, &cause, &late->waker, late->own - rest, 1);
	late->own = rest;
}

/*
 * Whoever wakes the victim slept until then, and had been woken itself: so the victim needs that one.
 * Whether it ran on another CPU.
 */
inline_always int follow(struct lateness *late)
{
	struct link *link = LINK(late->waker.tid);
	u64 *work;

	if (late->meant || !late->links || !link || link->tid != late->waker.tid || !link->waker.tid ||
	    link->waker.tid == late->victim || link->at <= late->since || link->at > late->until)
		return 0;
	blame_waker(late, link->at);
	late->links--;
	late->needs = late->waker.tid;
	late->waker = link->waker;
	late->until = link->at;
	late->ready = 0;
	late->needed = 0;
	work = LOOKUP(works, &link->waker.tid);
	if (work)
		late->needed = *work;
	if (link->cpu == late->on)
		return 0;
	late->on = link->cpu;
	return 1;
}

/* The victim's CPU, and the one that is looked at. */
struct walk {
	struct cpu *cpu, *there;
};

/*
 * Of the time in which a victim should have run, or waited for a lock. What ran on this CPU kept its
 * timer from expiring, or what it needs from running: the timer's softirq, the lock's owner.
 */
static long blame_late(u32 i, void *argument)
{
	struct cpu *cpu = ((struct walk *)argument)->cpu, *there = ((struct walk *)argument)->there;
	struct lateness *late = &cpu->late;
	const struct segment *segment = &there->recent[(there->head - 1 - i) & (RECENT_SEGMENTS - 1)];
	u64 start = segment->start > late->since ? segment->start : late->since;
	u64 end = segment->end < late->until ? segment->end : late->until;
	u64 time = end - start;
	u32 blocked = late->cause.kind == CAUSE_BLOCKED, is_waker, kept, task, why = 0;
	struct cause came_late = { .kind = CAUSE_TIMER_IRQ, .how = 1 };

	if (segment->cause.victim)
		return 0;
	if (segment->end <= late->since)
		return 1;
	if (start >= end)
		return 0;
	task = (segment->cause.kind == CAUSE_TASK || segment->cause.kind == CAUSE_WORK) &&
	       segment->cause.id;
	if (late->needs && segment->task == late->needs && segment->cause.kind == CAUSE_TASK) {
		blame_waker(late, end);	/* it had not slept yet */
		late->waker = segment->who;
		late->needs = late->links = 0;
	}
	if (late->ready && end <= late->ready && follow(late))
		return 1;
	is_waker = segment->task == late->waker.tid;
	if (is_waker) {
		late->ready = segment->ready;
		late->chosen = segment->chosen;
	}
	kept = late->waker.tid && !is_waker &&
	       (blocked ? late->ready && end > late->ready : late->soft);
	if (late->meant && !kept && !is_waker)
		return 1;
	if (blocked && !kept && (task || !is_waker || !late->waker.tid))
		return start == late->since;
	if (blocked && kept && start < late->ready) {
		start = late->ready;
		time = end - start;
	}
	late->own -= time;
	if (blocked && kept)
		why = late->chosen & CHOSEN_WITH_QUOTA ? THROTTLE_QUOTA :
		      why_passed_over(late->waker.priority, late->ready, segment);
	if (why)
		blame_kept(cpu, segment, CAUSE_THROTTLED, why, time);
	else if (task && kept)
		blame_kept(cpu, segment, CAUSE_KEPT, 0, time);
	else if (task && time < IRQS_OFF_NS)
		add_row(late->victim, &came_late, &segment->who, time, 1);
	else if (task)
		blame_kept(cpu, segment, CAUSE_IRQS_OFF, 0, time);
	else
		add_row(late->victim, &segment->cause, &segment->who, time,
			segment->first || start > segment->start);
	if (blocked && kept && segment->start < late->ready) {
		if (follow(late))
			return 1;
		if (segment->task == late->waker.tid) {
			late->ready = segment->ready;
			late->chosen = segment->chosen;
		}
	}
	return start == late->since;
}

/* A softirq wakes somebody for the task that raised it, as when that sends a packet to this machine. */
inline_always void current_waker(const struct cpu *cpu, struct who *who)
{
	const struct frame *frame = &cpu->frames[cpu->depth & (MAX_DEPTH - 1)];

	if (!cpu->depth)
		*who = cpu->frames[0].who;
	else if (frame->kind == FRAME_SOFTIRQ && frame->cause.kind == CAUSE_SOFTIRQ)
		*who = cpu->raised[frame->cause.id & (VECTORS - 1)];
	else
		who->tid = 0;
}

inline_always void on_raise(struct cpu *cpu, u32 vector)
{
	current_waker(cpu, &cpu->raised[vector & (VECTORS - 1)]);
}

/* Whoever is woken may be needed by a victim: by whom. */
inline_always void link_to_waker(const struct cpu *cpu, u32 tid, u64 now)
{
	struct link *link = LINK(tid);

	if (!link)
		return;
	link->tid = tid;
	link->at = now;
	link->cpu = cpu->number;
	current_waker(cpu, &link->waker);
}

/*
 * It is late from the moment on when its timer was due, by the timer's slack, too; or, if it slept for
 * what nobody means to wait for, since it went to sleep. If it meant to wait for the task that wakes it
 * now, it is late for as long as that one was ready and did not run, since it slept last. Fills cpu->late.
 */
inline_always u64 find_lateness(struct cpu *cpu, const struct victim *victim, u32 id, u64 now)
{
	const struct frame *frame = &cpu->frames[cpu->depth & (MAX_DEPTH - 1)];
	struct lateness *late = &cpu->late;
	u64 *work;

	__builtin_memset(late, 0, sizeof(*late));
	late->victim = id;
	late->since = now;
	late->soft = frame->kind == FRAME_SOFTIRQ;
	late->until = now;
	late->on = cpu->number;
	if (!cpu->depth || late->soft)
		late->waker = cpu->frames[0].who;
	if (cpu->depth && frame->due && frame->due < now && victim->sleep >> HOW_SHIFT != SLEEP_WAIT) {
		late->since = frame->due > victim->slept ? frame->due : victim->slept;
		late->slack = frame->due + frame->slack;
	} else if (victim->sleep >> HOW_SHIFT ||
		   (!cpu->depth && cpu->ready && cpu->ready + STAY_NS < cpu->picked)) {
		late->meant = !(victim->sleep >> HOW_SHIFT);
		late->since = victim->slept;
		late->cause.kind = CAUSE_BLOCKED;
		if (cpu->depth)
			current_waker(cpu, &late->waker);
		late->links = 4;
		late->cause.id = late->waker.tid;
		late->cause.how = victim->sleep;
		late->first = late->waker;
		late->needed = victim->sleep & 0xffff;
		work = LOOKUP(works, &late->waker.tid);
		if (work)
			late->needed = *work;
	}
	return late->since;
}

/* Rows for the time until NOW in which it was late, or blocked. */
SUBPROGRAM int blame_lateness(struct cpu *cpu, struct victim *victim, u64 now)
{
	struct cause cause = { .kind = CAUSE_SLACK };
	struct walk walk = { .cpu = cpu, .there = cpu };
	struct lateness *late;
	u64 slack, since;

	if (!cpu || !victim)
		return 0;
	cut(cpu, now, 0);
	late = &cpu->late;
	since = late->since;
	slack = late->slack < now ? late->slack : now;
	if (slack > late->since) {
		add_row(late->victim, &cause, &victim->who, slack - late->since, 1);
		late->since = slack;
	}
	late->own = now - late->since;
	if (late->since < now)
		LOOP(RECENT_SEGMENTS, blame_late, &walk);
	for (u32 other = 0; other < 2 && walk.there && late->on != walk.there->number; other++) {
		walk.there = FIND_CPU(late->on);
		if (walk.there)
			LOOP(RECENT_SEGMENTS, blame_late, &walk);
	}
	blame_kept(cpu, 0, 0, 0, 0);
	if (late->cause.kind == CAUSE_BLOCKED && !late->meant) {
		victim->waited += now - since;
		blame_waker(late, late->since);
	} else if (late->meant) {
		since += late->own;
	}
	late->since = since;
	victim->taken += now - since;
	mark(cpu, late->cause.kind ? &late->cause : &cause, &late->first, late->victim, since, now);
	return 0;
}

/* It sleeps no more. */
inline_always void end_sleep(struct cpu *cpu, void *context, struct victim *victim, u32 id, u64 now)
{
	struct cause cause = { .kind = CAUSE_SLEPT, .how = victim->sleep };
	u64 since;

	victim->since = now;
	if (!cpu || !victim->slept || !cpu_is_watched(victim->cpu))
		return;
	if (!(victim->sleep >> HOW_SHIFT))
		begin_job(cpu, victim, now);
	since = find_lateness(cpu, victim, id, now);
	if (since < now) {
		if (cpu->entered > since + IRQS_OFF_NS && !cpu->late.cause.kind && !cpu->late.soft)
			cpu->late.stack = TAKE_STACK(context);
		blame_lateness(cpu, victim, now);
		since = cpu->late.since;
		victim->since = since;
		victim->blamed = now;
	}
	add_row(id, &cause, &victim->who,
		(cpu->late.cause.kind && !cpu->late.meant ? now : since) - victim->slept, 1);
	victim->slept = 0;
}

/*
 * CPU: that of the one who wakes it. QUEUED: it is on the run queue now, else it is about to be put
 * there. It may even run.
 */
inline_always void on_wakeup(struct cpu *cpu, void *context, u64 now, const struct who *who,
			     u32 flags, int queued)
{
	struct victim *victim;

	if (config.victims_are == VICTIMS_CPUS || !is_victim(who, flags))
		return;
	victim = LOOKUP(victims, &who->tid);
	if (!victim || victim->queued)
		return;
	if (!queued)
		end_sleep(cpu, context, victim, who->tid, now);
	else if (!victim->since)
		victim->since = now;
	victim->queued = queued ? WOKEN : NOT_QUEUED;
	if (!queued)
		return;
	begin_wait(victim, who->priority, now);
	expect_wait(FIND_CPU(victim->cpu), victim, who->tid);
}

/* It was just made, and is going to run on CPU NUMBER. */
inline_always void on_new_task(u64 now, const struct who *who, u32 flags, u64 task, u32 number)
{
	struct victim *victim = cpu_is_watched(number) && is_victim(who, flags) ?
				make_victim(who->tid, who) : 0;

	if (!victim)
		return;
	victim->task = task;
	victim->cpu = number;
	on_wakeup(0, 0, now, who, flags, 1);
}

/* How a task sleeps. CALL: the system call + 1, 0: none; with its arguments. */
inline_always u32 how_it_sleeps(u32 state, u32 call, u32 operation, u32 value)
{
	u32 kind = SLEEP_MEANT;

	operation &= 0x7f;
	if (state & STATE_DEAD)
		return call & 0xffff;
	if (state & STATE_TRACED)
		kind = SLEEP_TRACED;
	else if (state & STATE_STOPPED)
		kind = SLEEP_STOPPED;
	else if ((state & (STATE_DEEP | STATE_RTLOCK) || !call) && !(state & STATE_IDLE))
		kind = SLEEP_DEEP;	/* or in a page fault, which another task serves */
	else if (call == config.futex && (operation == OP_LOCK_PI || operation == OP_LOCK_PI2 ||
		 ((operation == OP_WAIT || operation == OP_WAIT_BITSET) &&
		  (value == 2 || value == 3 || value >> 31))))
		kind = SLEEP_LOCK;	/* the values by which C libraries and Rust mean "taken, waited for" */
	for (u32 i = 0; i < sizeof(config.locks) / sizeof(config.locks[0]); i++)
		if (call && kind == SLEEP_MEANT)
			kind = call == config.locks[i] ? SLEEP_LOCK :
			       call == config.writes[i] ? SLEEP_DEEP : SLEEP_MEANT;
	return kind << HOW_SHIFT | (call & 0xffff);
}

/* A task goes to another run queue; perhaps it has waited on one. */
inline_always void on_migrate(u64 now, u32 tid, u32 cpu)
{
	struct cause cause = { .kind = CAUSE_ELSEWHERE };
	struct victim *victim = LOOKUP(victims, &tid);
	u64 time;

	if (!victim)
		return;
	victim->cpu = cpu;
	if (!victim->queued || !victim->since || not_blamed(victim) >= now)
		return;
	time = now - not_blamed(victim);
	victim->blamed = now;
	victim->ready = now;
	victim->taken += time;
	if (victim->throttled)
		blame_throttle(victim, tid, victim->throttled, time);
	else
		add_row(tid, &cause, &victim->who, time, 1);
	victim->throttled = WHY_THROTTLED(victim);
	expect_wait(FIND_CPU(cpu), victim, tid);
}

inline_always void on_work(struct cpu *cpu, u64 now, u32 tid, u64 function)
{
	struct frame *frame = &cpu->frames[0];

	if (function)
		PUT(works, &tid, &function);
	else
		REMOVE(works, &tid);
	if (cpu->depth || frame->cause.id != tid)
		return;
	cut(cpu, now, 0);
	frame->cause.kind = function ? CAUSE_WORK : CAUSE_TASK;
	frame->cause.function = function;
	frame->counted = !function;
}
