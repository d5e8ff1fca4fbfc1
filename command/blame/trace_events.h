/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trace events that the accounting needs, and an instance of tracefs that has them, whose buffers are read. */
#ifndef TIMERSHIELD_BLAME_TRACE_EVENTS_H
#define TIMERSHIELD_BLAME_TRACE_EVENTS_H

#include "blame_types.h"
#include "lib/text.h"

enum trace_kind {
	TRACE_PUSH, TRACE_POP, TRACE_TIMER, TRACE_ARM, TRACE_QUEUE, TRACE_CALL, TRACE_WHEEL,
	TRACE_WORK, TRACE_WORK_END, TRACE_SWITCH, TRACE_WAKING, TRACE_WAKEUP, TRACE_MIGRATE,
	TRACE_SIGNAL, TRACE_FORK, TRACE_FREE, TRACE_POLL, TRACE_CALLED, TRACE_FAULT,
	TRACE_WORK_QUEUED
};

#define TRACE_FIELDS 7
#define COMMON_PID 4			/* where every event has the thread that it met */

struct trace_event {
	enum trace_kind kind;
	const char *system, *name;
	const char *fields[TRACE_FIELDS];
	/* of a frame; its id is the first field if there is one, or an enum ipi */
	enum frame_kind frame;
	enum cause_kind cause;
	u32 ipi;

	u32 id;				/* 0: this kernel has no such event */
	u32 offsets[TRACE_FIELDS], sizes[TRACE_FIELDS];
};

#define TRACE_INSTANCES "/sys/kernel/tracing/instances"

/* Whether this instance is one of ours whose process was killed. */
bool trace_is_stale(const char *name);

/*
 * Makes the instances and enables the events in them; what was left by those that were
 * killed is removed. 0, or -errno with the reason in WHY.
 */
int trace_open(const struct blame_config *config, struct text *why);
void trace_close(void);
int trace_enable(bool enabled);
void trace_record(bool on);

/* From now on this thread's system calls and page faults are events, and those of what it starts. */
void trace_watch(u32 tid);
void trace_watch_none(void);	/* while nothing is recorded */

/* One for events of all tasks, and one for those of victims alone. */
#define TRACE_RINGS 2

/* A file of an instance, for one CPU; the descriptor or -errno. */
int trace_open_ring(unsigned int which, unsigned int cpu);

const struct trace_event *trace_event_by_id(u32 id);

/* A string of an event that has its place in FIELD, cut to COMM_SIZE bytes. */
void trace_string(const struct trace_event *event, const unsigned char *data, unsigned int field,
		  char *string);

/* One of an array of numbers in an event. */
u64 trace_element(const struct trace_event *event, const unsigned char *data, unsigned int field,
		  unsigned int i);

/* A number in an event; 0 if it has no such field. */
u64 trace_number(const struct trace_event *event, const unsigned char *data,
		 unsigned int field);

/* The kernel's trace buffer of one CPU, read page by page. */
#define MAX_PAGE 65536

struct trace_ring {
	int fd;				/* of trace_pipe_raw, not blocking */
	size_t at, end;			/* in the page */
	u64 time;
	u64 lost;			/* events, since the start */
	bool gap;			/* some were lost just before the event */
	bool empty;			/* for the reader: it was, when looked at last */

	/* the event that is next, if there is one */
	bool ready;
	const unsigned char *event;
	unsigned char page[MAX_PAGE];
};

/* Makes the next event ready if there is one; 0 or -errno. */
int trace_ring_next(struct trace_ring *ring);

/*
 * What trace events do not tell of a task, looked up in /proc a moment later: PF_KTHREAD and
 * PF_WQ_WORKER.
 */
u32 trace_task_flags(u32 tid);

/* Name and priority, for events that have only the number. */
void trace_task_who(struct who *who, u32 tid);

/* The system call in which it sleeps + 1; 0 if it is not known. */
u32 trace_task_call(u32 tid);

#endif
