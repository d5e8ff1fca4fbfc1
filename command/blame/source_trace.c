// SPDX-License-Identifier: GPL-2.0-or-later
/* The tracefs source: the same accounting as in the kernel, from trace events. */
#include "source.h"

#include "store.h"
#include "session.h"
#include "trace_events.h"

static struct blame_config config;
static struct blame_lost lost;
static struct store rows = {
	.key = sizeof(struct cause), .value = sizeof(struct row), .room = MAX_ROWS,
};
static struct store victims = {
	.key = sizeof(u32), .value = sizeof(struct victim), .room = MAX_VICTIMS,
};
static struct store targets = { .key = sizeof(u32), .value = sizeof(u32), .room = MAX_TARGETS };
static struct store armed = {
	.key = sizeof(u64), .value = sizeof(struct armed), .room = MAX_ARMED, .forgetful = true,
};
static struct store works = {
	.key = sizeof(u32), .value = sizeof(u64), .room = MAX_WORKS, .forgetful = true,
};

static struct store queued_since = {	/* since when a thread waits for a CPU */
	.key = sizeof(u32), .value = sizeof(u64), .room = MAX_TARGETS, .forgetful = true,
};

struct call {
	u32 number, operation, value;	/* number + 1; two of its arguments */
};

static struct store calls = {		/* the last one of each victim */
	.key = sizeof(u32), .value = sizeof(struct call), .room = MAX_TARGETS, .forgetful = true,
};

static struct cpu *cpus;
static struct trace_ring **rings;	/* of all CPUs, and again; NULL: a CPU that is not there */
static unsigned int nr_cpus, nr_rings;
static u64 missed;			/* task switches without an event */

#define FIND_CPU(number) ((number) < nr_cpus ? &cpus[number] : NULL)

#include "engine.h"

/* A task of which the event has number, priority and name in three fields in a row. */
static void read_task(struct who *who, const struct trace_event *event,
		      const unsigned char *data, unsigned int field)
{
	memset(who, 0, sizeof(*who));
	who->tid = (u32)trace_number(event, data, field);
	who->priority = (s32)trace_number(event, data, field + 1);
	who->policy = POLICY_UNKNOWN;
	if (event->sizes[field + 2] == COMM_SIZE)
		memcpy(who->comm, data + event->offsets[field + 2],
		       strnlen((const char *)data + event->offsets[field + 2], COMM_SIZE));
}

/* The thread that an event met, as the last switch knows it. */
static void read_current(struct who *who, const struct cpu *cpu, u32 tid)
{
	if (cpu->frames[0].who.tid == tid)
		*who = cpu->frames[0].who;
	else
		trace_task_who(who, tid);
}

static void on_arm(const struct trace_event *event, const unsigned char *data,
		   const struct cpu *cpu, u32 tid)
{
	u64 timer = trace_number(event, data, 0);
	u32 how = how_armed(trace_number(event, data, 1));
	struct armed by;

	if (!how)
		return;
	read_current(&by.who, cpu, tid);
	by.due = trace_number(event, data, 2);
	by.slack = trace_number(event, data, 3) - by.due;
	PUT(armed, &timer, &by);
}

/* By the clock of the timer, which may be CLOCK_MONOTONIC itself. */
static u64 due_at(const struct armed *by, u64 timers_now, u64 now)
{
	if (!by)
		return 0;
	return timers_now - now + 1000000000 < 2000000000 ? by->due : now - (timers_now - by->due);
}

static void on_expiry(const struct trace_event *event, const unsigned char *data, struct cpu *cpu,
		      u64 now)
{
	u64 timer = trace_number(event, data, 0);
	const struct armed *by = LOOKUP(armed, &timer);

	on_timer(cpu, now, timer, trace_number(event, data, 1),
		 due_at(by, trace_number(event, data, 2), now), by ? by->slack : 0);
}

static void on_queue(u64 descriptor, const struct cpu *cpu, u32 tid)
{
	struct armed by;

	read_current(&by.who, cpu, tid);
	PUT(armed, &descriptor, &by);
}

static u32 call_of(u32 tid)
{
	const struct call *call = LOOKUP(calls, &tid);

	return call ? call->number : trace_task_call(tid);
}

static void on_wake(const struct trace_event *event, const unsigned char *data,
		    struct cpu *cpu, u64 now, int queued)
{
	const struct frame *frame = &cpu->frames[cpu->depth];
	struct who who;

	read_task(&who, event, data, 0);
	if (!queued && cpu->depth && frame->cause.kind == CAUSE_TIMER &&
	    frame->owner < OWNER_WOKEN)
		own_frame(cpu, &who, OWNER_WOKEN, call_of(who.tid));
	if (queued)
		PUT(queued_since, &who.tid, &now);
	on_wakeup(cpu, NULL, now, &who, config.realtime && who.priority < 100 ?
		  trace_task_flags(who.tid) : 0, queued);
}

/* Devices are told apart by their names, which are numbers here. */
static void on_trace_poll(const struct trace_event *event, const unsigned char *data,
			  struct cpu *cpu, u64 now)
{
	struct who device = { 0 };
	u32 id = 2166136261u;

	trace_string(event, data, 0, device.comm);
	for (unsigned int i = 0; i < COMM_SIZE; i++)
		id = (id ^ (unsigned char)device.comm[i]) * 16777619u;
	if (!strcmp(device.comm, "(no_device)"))
		id = NO_DEVICE;
	on_poll(cpu, now, &device, id);
}

static void on_fork(const struct trace_event *event, const unsigned char *data)
{
	u32 parent = (u32)trace_number(event, data, 0), child, one = 1;

	child = (u32)trace_number(event, data, 1);
	if (LOOKUP(targets, &parent) && PUT(targets, &child, &one))
		ADD(lost.targets, 1);
}

static void on_call_of_victim(const struct trace_event *event, const unsigned char *data, u32 tid)
{
	struct call call = {
		.number = (u32)trace_number(event, data, 0) + 1,
		.operation = (u32)trace_element(event, data, 1, 1),
		.value = (u32)trace_element(event, data, 1, 2),
	};

	PUT(calls, &tid, &call);
}

/* How long it takes is known by measuring some. */
static void on_fault_of_victim(struct cpu *cpu, u64 now, u32 tid, u64 code)
{
	struct call none = { 0 };

	if (LOOKUP(calls, &tid))	/* else this kernel may not tell of calls at all */
		PUT(calls, &tid, &none);
	if (cpu->victim == tid)
		on_fault(cpu, now, code);
}

static u32 how_trace_sleeps(u32 tid, u32 state)
{
	const struct call *call = LOOKUP(calls, &tid);
	u32 number = call ? 0 : trace_task_call(tid);

	return call ? how_it_sleeps(state, call->number, call->operation, call->value) :
	       how_it_sleeps(state, number ? number : CALL_UNKNOWN, 0, 0);
}

static void on_task_switch(const struct trace_event *event, const unsigned char *data,
			   struct cpu *cpu, u32 number, u64 now)
{
	u32 state = (u32)trace_number(event, data, 6) & 0xff, sleep = 0;
	struct who previous, next;
	const u64 *since;

	read_task(&previous, event, data, 0);
	read_task(&next, event, data, 3);
	if (cpu->frames[0].who.tid == previous.tid)
		cpu->frames[0].who.priority = previous.priority;
	if (!state)
		PUT(queued_since, &previous.tid, &now);
	else if (cpu->victim == previous.tid)
		sleep = how_trace_sleeps(previous.tid, state);
	since = LOOKUP(queued_since, &next.tid);
	on_switch(cpu, NULL, number, now, &previous, !state, &next, trace_task_flags(next.tid), 0,
		  since ? *since : 0, sleep);
	REMOVE(queued_since, &next.tid);
}

/*
 * The kernel of one virtual machine recorded no switch from one of its idle tasks. Whoever was woken
 * then has run since.
 */
static void switch_unseen(struct cpu *cpu, u32 number, u64 now, u32 tid)
{
	struct who previous = cpu->frames[0].who, next;
	const u64 *since = previous.tid ? NULL : LOOKUP(queued_since, &tid);

	trace_task_who(&next, tid);
	on_switch(cpu, NULL, number, since ? *since : now, &previous, 0, &next, trace_task_flags(tid),
		  0, 0, 0);
	REMOVE(queued_since, &tid);
	missed++;
}

static void handle(const struct trace_event *event, const unsigned char *data, u32 number,
		   u64 now, u32 tid)
{
	struct cpu *cpu = &cpus[number];
	struct who who;

	cpu->events++;
	if (is_to_learn(cpu)) {
		trace_task_who(&who, tid);
		learn_task(cpu, number, &who, trace_task_flags(tid), 0);
	}
	/* Of these events the task certainly runs on its CPU since the last switch. */
	if (!cpu->depth && tid != cpu->frames[0].who.tid &&
	    (event->kind == TRACE_SWITCH || event->kind == TRACE_WAKING || event->kind == TRACE_PUSH))
		switch_unseen(cpu, number, now, tid);
	switch (event->kind) {
	case TRACE_PUSH:
		push(cpu, now, event->frame, event->cause, event->fields[0] ?
		     (u32)trace_number(event, data, 0) : event->ipi);
		break;
	case TRACE_POP:
		pop(cpu, now, event->frame);
		break;
	case TRACE_POLL:
		on_trace_poll(event, data, cpu, now);
		break;
	case TRACE_TIMER:
		on_expiry(event, data, cpu, now);
		break;
	case TRACE_ARM:
		on_arm(event, data, cpu, tid);
		break;
	case TRACE_QUEUE:
		on_queue(trace_number(event, data, 0), cpu, tid);
		break;
	case TRACE_CALL:
		on_call(cpu, now, trace_number(event, data, 0), trace_number(event, data, 1));
		break;
	case TRACE_WHEEL:
		on_wheel(cpu, now, trace_number(event, data, 0));
		break;
	case TRACE_WORK:
		on_work(cpu, now, tid, trace_number(event, data, 0));
		break;
	case TRACE_WORK_QUEUED:
		on_work_queued(cpu, trace_number(event, data, 0));
		break;
	case TRACE_WORK_END:
		on_work(cpu, now, tid, 0);
		break;
	case TRACE_SWITCH:
		on_task_switch(event, data, cpu, number, now);
		break;
	case TRACE_WAKING:
	case TRACE_WAKEUP:
		on_wake(event, data, cpu, now, event->kind == TRACE_WAKEUP);
		break;
	case TRACE_MIGRATE:
		on_migrate(now, (u32)trace_number(event, data, 0),
			   (u32)trace_number(event, data, 1));
		break;
	case TRACE_SIGNAL:
		trace_task_who(&who, (u32)trace_number(event, data, 0));
		own_frame(cpu, &who, OWNER_SIGNALLED, 0);
		break;
	case TRACE_FORK:
		on_fork(event, data);
		break;
	case TRACE_CALLED:
		on_call_of_victim(event, data, tid);
		break;
	case TRACE_FAULT:
		on_fault_of_victim(cpu, now, tid, trace_number(event, data, 0));
		break;
	case TRACE_FREE:
		/* From now on its number may be another task's. */
		who.tid = (u32)trace_number(event, data, 0);
		REMOVE(targets, &who.tid);
		break;
	}
}

static void take(struct trace_ring *ring, unsigned int number)
{
	size_t known = victims.used;
	const struct trace_event *event;
	uint16_t id;
	u32 tid;

	memcpy(&id, ring->event, sizeof(id));
	memcpy(&tid, ring->event + COMMON_PID, sizeof(tid));
	event = trace_event_by_id(id);
	if (ring->gap) {	/* what was lost may have ended what we think goes on */
		cpus[number].depth = 0;
		cpus[number].known = 0;
		cpus[number].last = 0;
		cpus[number].victim = 0;
		ring->gap = false;
	}
	if (event && config.on)
		handle(event, ring->event, number, ring->time, tid);
	/* the kernel adds the children of those that are watched itself, and this takes long */
	if (victims.used > known && config.victims_are != VICTIMS_TARGETS)
		trace_watch(cpus[number].victim);
}

/* In the order of time over all CPUs, up to now: what is later waits. */
static int drain(void)
{
	u64 end = monotonic_now();

	for (unsigned int i = 0; i < nr_rings; i++)
		if (rings[i])
			rings[i]->empty = false;
	for (;;) {
		int first = -1;

		for (unsigned int i = 0; i < nr_rings; i++) {
			struct trace_ring *ring = rings[i];
			int ret = ring && !ring->ready && !ring->empty ? trace_ring_next(ring) : 0;

			if (ret)
				return ret;
			if (!ring)
				continue;
			ring->empty = !ring->ready;
			if (ring->ready && ring->time <= end &&
			    (first < 0 || ring->time < rings[first]->time))
				first = (int)i;
		}
		if (first < 0)
			return 0;
		take(rings[first], (unsigned int)first % nr_cpus);
		rings[first]->ready = false;
	}
}

static void configure(const struct blame_config *wanted)
{
	trace_record(wanted->on);
	drain();		/* what was before counts by what was wanted before */
	config = *wanted;
}

static int reset(const struct blame_config *wanted)
{
	trace_record(false);
	drain();
	trace_watch_none();		/* the reader's own reads would be events to read */
	for (unsigned int i = 0; i < nr_rings; i++)
		if (rings[i])
			rings[i]->lost = 0;
	store_clear(&rows);
	store_clear(&victims);
	store_clear(&targets);
	store_clear(&armed);
	store_clear(&works);
	store_clear(&queued_since);
	store_clear(&calls);
	memset(cpus, 0, nr_cpus * sizeof(*cpus));
	memset(&lost, 0, sizeof(lost));
	missed = 0;
	config = *wanted;
	return 0;
}

static void stop(void)
{
	for (unsigned int i = 0; rings && i < nr_rings; i++) {
		if (rings[i])
			close(rings[i]->fd);
		free(rings[i]);
	}
	free(rings);
	free(cpus);
	rings = NULL;
	cpus = NULL;
	store_free(&rows);
	store_free(&victims);
	store_free(&targets);
	store_free(&armed);
	store_free(&works);
	store_free(&queued_since);
	store_free(&calls);
	trace_close();
}

static int start(const struct blame_config *wanted, struct text *why)
{
	int ret = trace_open(wanted, why);

	if (ret)
		return ret;
	config = *wanted;
	nr_cpus = (unsigned int)sysconf(_SC_NPROCESSORS_CONF);
	cpus = zeroed(nr_cpus, sizeof(*cpus));
	nr_rings = TRACE_RINGS * nr_cpus;
	rings = zeroed(nr_rings, sizeof(*rings));
	for (unsigned int i = 0; i < nr_rings; i++) {
		int fd = trace_open_ring(i / nr_cpus, i % nr_cpus);

		if (fd < 0)
			continue;
		rings[i] = zeroed(1, sizeof(**rings));
		rings[i]->fd = fd;
	}
	return 0;
}

static int add_target(u32 id)
{
	u32 one = 1;

	trace_watch(id);
	return store_put(&targets, &id, &one) ? -ENOSPC : 0;
}

static int read_figures(struct blame_figures *figures)
{
	blame_figures_take(figures, &rows, &victims);
	figures->lost = lost;
	figures->lost_events = missed;
	for (unsigned int i = 0; i < nr_rings; i++)
		figures->lost_events += rings[i] ? rings[i]->lost : 0;
	return 0;
}

static u64 taken(u32 id)
{
	const struct victim *victim;

	drain();
	victim = LOOKUP(victims, &id);
	return victim ? victim->taken : 0;
}

static int read_cpu(unsigned int number, struct cpu *cpu)
{
	if (number >= nr_cpus)
		return -EINVAL;
	*cpu = cpus[number];
	return 0;
}

const struct blame_source blame_trace = {
	.name = "trace",
	.start = start,
	.configure = configure,
	.reset = reset,
	.attach = trace_enable,
	.add_target = add_target,
	.drain = drain,
	.read = read_figures,
	.taken = taken,
	.read_cpu = read_cpu,
	.stop = stop,
};
