// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace_events.h"

#include "lib/file.h"
#include "lib/task.h"
#include "session.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define TRACEFS "/sys/kernel/tracing"
#define PREFIX "timershield-"
#define MAX_ID 65536

#define EVENT(kind, system, name, ...)						\
	{ kind, system, name, { __VA_ARGS__ }, .id = 0 }
#define VECTOR(system, what, number)						\
	{ TRACE_PUSH, system, what "_entry", .frame = FRAME_VECTOR, .ipi = number,	\
	  .cause = (number) == IPI_TIMER ? CAUSE_TIMER_IRQ : CAUSE_IPI },		\
	{ TRACE_POP, system, what "_exit", .frame = FRAME_VECTOR }

static struct trace_event events[] = {
	VECTOR("irq_vectors", "local_timer", IPI_TIMER),
	VECTOR("irq_vectors", "reschedule", IPI_RESCHEDULE),
	VECTOR("irq_vectors", "call_function", IPI_CALL),
	VECTOR("irq_vectors", "call_function_single", IPI_CALL_SINGLE),
	VECTOR("irq_vectors", "irq_work", IPI_IRQ_WORK),
	VECTOR("irq_vectors", "x86_platform_ipi", IPI_PLATFORM),
	VECTOR("irq_vectors", "thermal_apic", IPI_THERMAL),
	VECTOR("irq_vectors", "threshold_apic", IPI_THRESHOLD),
	VECTOR("irq_vectors", "deferred_error_apic", IPI_DEFERRED_ERROR),
	VECTOR("irq_vectors", "error_apic", IPI_ERROR),
	VECTOR("irq_vectors", "spurious_apic", IPI_SPURIOUS),
	VECTOR("ipi", "ipi", IPI_OTHER),
	{ TRACE_PUSH, "irq", "irq_handler_entry", { "irq" }, FRAME_IRQ, CAUSE_IRQ, .id = 0 },
	{ TRACE_POP, "irq", "irq_handler_exit", { "irq" }, FRAME_IRQ, .id = 0 },
	{ TRACE_PUSH, "irq", "softirq_entry", { "vec" }, FRAME_SOFTIRQ, CAUSE_SOFTIRQ, .id = 0 },
	{ TRACE_POP, "irq", "softirq_exit", { "vec" }, FRAME_SOFTIRQ, .id = 0 },
	EVENT(TRACE_POLL, "napi", "napi_poll", "dev_name"),
	EVENT(TRACE_TIMER, "timer", "hrtimer_expire_entry", "hrtimer", "function", "now"),
	{ TRACE_POP, "timer", "hrtimer_expire_exit", { "hrtimer" }, FRAME_TIMER, .id = 0 },
	EVENT(TRACE_ARM, "timer", "hrtimer_start", "hrtimer", "function", "softexpires",
	      "expires"),
	EVENT(TRACE_QUEUE, "csd", "csd_queue_cpu", "csd"),
	EVENT(TRACE_CALL, "csd", "csd_function_entry", "func", "csd"),
	EVENT(TRACE_WHEEL, "timer", "timer_expire_entry", "function"),
	EVENT(TRACE_WORK, "workqueue", "workqueue_execute_start", "function"),
	EVENT(TRACE_WORK_QUEUED, "workqueue", "workqueue_queue_work", "function"),
	EVENT(TRACE_WORK_END, "workqueue", "workqueue_execute_end", "work"),
	EVENT(TRACE_SWITCH, "sched", "sched_switch", "prev_pid", "prev_prio", "prev_comm",
	      "next_pid", "next_prio", "next_comm", "prev_state"),
	EVENT(TRACE_WAKING, "sched", "sched_waking", "pid", "prio", "comm"),
	EVENT(TRACE_WAKEUP, "sched", "sched_wakeup", "pid", "prio", "comm"),
	EVENT(TRACE_MIGRATE, "sched", "sched_migrate_task", "pid", "dest_cpu"),
	EVENT(TRACE_SIGNAL, "signal", "signal_generate", "pid"),
	EVENT(TRACE_FORK, "sched", "sched_process_fork", "parent_pid", "child_pid"),
	EVENT(TRACE_FREE, "sched", "sched_process_free", "pid"),
	EVENT(TRACE_CALLED, "raw_syscalls", "sys_enter", "id", "args"),
	EVENT(TRACE_FAULT, "exceptions", "page_fault_user", "error_code"),
};

static unsigned char by_id[MAX_ID];	/* index + 1 */
static char *instances[TRACE_RINGS];	/* paths */

static const char *instance_of(const struct trace_event *event)
{
	return instances[event->kind == TRACE_CALLED || event->kind == TRACE_FAULT];
}

/* "field:TYPE NAME; offset:N; size:N; ..."; NAME may be followed by "[16]". */
static void find_field(struct trace_event *event, unsigned int i, const char *text)
{
	size_t length = strlen(event->fields[i]);

	for (const char *at = strstr(text, event->fields[i]); at;
	     at = strstr(at + 1, event->fields[i])) {
		const char *end = at + length, *offset;

		if ((at[-1] != ' ' && at[-1] != '*') || (*end != ';' && *end != '['))
			continue;
		offset = strstr(end, "offset:");
		if (offset && sscanf(offset, "offset:%u; size:%u", &event->offsets[i],
				     &event->sizes[i]) == 2)
			return;
	}
}

static void read_format(struct trace_event *event)
{
	autofree char *path = format("%s/events/%s/%s/format", instance_of(event), event->system,
				     event->name);
	autotext struct text text = { 0 };
	const char *id;

	event->id = 0;
	if (!file_read(path, &text)) {
		id = strstr(text.s, "ID: ");
		event->id = id ? (uint16_t)strtoul(id + 4, NULL, 10) : 0;
		for (unsigned int i = 0; i < TRACE_FIELDS && event->fields[i]; i++)
			find_field(event, i, text.s);
	}
}

static int set(const char *instance, const char *file, const char *value)
{
	autofree char *path = format("%s/%s", instance, file);

	return file_write(path, value);
}

/* Only the timers of tasks are of interest when they are armed; a loop may read a clock all the time. */
static void set_filter(const struct blame_config *config, const struct trace_event *event)
{
	autofree char *file = format("events/%s/%s/filter", event->system, event->name);
	autotext struct text filter = { 0 };

	if (event->kind == TRACE_CALLED)
		text_add(&filter, "id != %d", SYS_clock_gettime);
	else if (event->kind != TRACE_ARM)
		return;
	for (unsigned int i = 0; i < OWNED_FUNCTIONS && event->kind == TRACE_ARM; i++)
		if (config->owned[i])
			text_add(&filter, "%sfunction == 0x%llx", filter.length ? " || " : "",
				 (unsigned long long)config->owned[i]);
	if (filter.length)
		set(instance_of(event), file, filter.s);	/* without it there are only more events */
}

static void prepare(const struct blame_config *config, struct trace_event *event)
{
	read_format(event);
	if (!event->id)
		return;
	by_id[event->id] = (unsigned char)(event - events + 1);
	set_filter(config, event);
}

int trace_enable(bool enabled)
{
	int ret = 0;

	for (size_t i = 0; i < ARRAY_SIZE(events) && !ret; i++) {
		autofree char *file = format("events/%s/%s/enable", events[i].system, events[i].name);

		if (events[i].id)
			ret = set(instance_of(&events[i]), file, enabled ? "1" : "0");
	}
	return ret;
}

void trace_record(bool on)
{
	for (unsigned int i = 0; i < TRACE_RINGS; i++)
		set(instances[i], "tracing_on", on ? "1" : "0");
}

bool trace_is_stale(const char *name)
{
	char *end;
	long pid;

	if (strncmp(name, PREFIX, strlen(PREFIX)))
		return false;
	pid = strtol(name + strlen(PREFIX), &end, 10);
	return (!*end || *end == '-') && pid > 0 && kill((pid_t)pid, 0) && errno == ESRCH;
}

static void remove_stale(void)
{
	autonames struct names names = { 0 };

	file_names(TRACE_INSTANCES, &names);
	for (size_t i = 0; i < names.count; i++) {
		autofree char *path = format(TRACE_INSTANCES "/%s", names.items[i]);

		if (trace_is_stale(names.items[i]))
			rmdir(path);
	}
}

void trace_close(void)
{
	for (unsigned int i = 0; i < TRACE_RINGS; i++) {
		if (instances[i])
			rmdir(instances[i]);
		free(instances[i]);
		instances[i] = NULL;
	}
	memset(by_id, 0, sizeof(by_id));
}

/* A machine that did not mount it at boot gets it now, as from libtracefs; it stays. */
static int mounted(struct text *why)
{
	int ret;

	if (file_exists(TRACE_INSTANCES) || !mount("tracefs", TRACEFS, "tracefs", 0, NULL))
		return 0;
	ret = -errno;
	text_add(why, "%s", ret == -EPERM ? "it needs root" : "cannot mount " TRACEFS);
	return ret;
}

static int make_instance(unsigned int which)
{
	char *path = format(TRACE_INSTANCES "/" PREFIX "%d%s", getpid(), which ? "-victims" : "");
	int ret;

	if (mkdir(path, 0700)) {
		ret = -errno;
		free(path);
		return ret;
	}
	instances[which] = path;
	ret = set(path, "tracing_on", "0");
	if (!ret)
		ret = set(path, "trace_clock", "mono");
	if (!ret)
		/* blame may wait for its turn while hundreds of processes start, switch and wake */
		ret = set(path, "buffer_size_kb", which ? "1024" : "2048");
	if (which) {			/* of no task so far */
		set(path, "set_event_pid", "0");
		set(path, "options/event-fork", "1");
	}
	return ret;
}

int trace_open(const struct blame_config *config, struct text *why)
{
	int ret;

	ret = mounted(why);
	if (ret)
		return ret;
	remove_stale();
	for (unsigned int i = 0; i < TRACE_RINGS && !ret; i++)
		ret = make_instance(i);
	for (size_t i = 0; i < ARRAY_SIZE(events) && !ret; i++)
		prepare(config, &events[i]);
	if (!ret)
		ret = trace_enable(true);
	if (ret) {
		text_add(why, TRACE_INSTANCES "/" PREFIX "%d: %s", getpid(), strerror(-ret));
		trace_close();
	}
	return ret;
}

void trace_watch(u32 tid)
{
	autofree char *path = format("%s/set_event_pid", instances[1]), *number = format("%u", tid);

	file_write(path, number);	/* adds it to the others */
}

/* An empty list means all tasks: there is always the idle task in it. */
void trace_watch_none(void)
{
	autofree char *path = format("%s/set_event_pid", instances[1]);
	int fd;

	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	set(instances[1], "set_event_pid", "0");
}

int trace_open_ring(unsigned int which, unsigned int cpu)
{
	autofree char *path = format("%s/per_cpu/cpu%u/trace_pipe_raw", instances[which], cpu);
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

const struct trace_event *trace_event_by_id(u32 id)
{
	return id < MAX_ID && by_id[id] ? &events[by_id[id] - 1] : NULL;
}

u64 trace_number(const struct trace_event *event, const unsigned char *data,
		 unsigned int field)
{
	u64 number = 0;

	if (event->sizes[field] && event->sizes[field] <= sizeof(number))
		memcpy(&number, data + event->offsets[field], event->sizes[field]);
	return number;
}

u64 trace_element(const struct trace_event *event, const unsigned char *data, unsigned int field,
		  unsigned int i)
{
	unsigned long number = 0;

	if (event->sizes[field] >= (i + 1) * sizeof(number))
		memcpy(&number, data + event->offsets[field] + i * sizeof(number), sizeof(number));
	return number;
}

void trace_string(const struct trace_event *event, const unsigned char *data, unsigned int field,
		  char *string)
{
	u32 place = (u32)trace_number(event, data, field), offset = place & 0xffff;
	u32 length = place >> 16;

	memset(string, 0, COMM_SIZE);
	if (offset < 256)
		memcpy(string, data + offset, strnlen((const char *)data + offset,
						      length < COMM_SIZE ? length : COMM_SIZE));
}

/* The format is that of events/header_page and events/header_event in tracefs. */
#define HEADER 16
#define COMMIT_LENGTH 0xfffffu
#define LOST (1u << 31)
#define LOST_STORED (1u << 30)

enum { MAX_TYPE_DATA = 28, TYPE_PADDING, TYPE_EXTEND, TYPE_STAMP };

static u32 word_at(const struct trace_ring *ring, size_t at)
{
	u32 word = 0;

	if (at + sizeof(word) <= sizeof(ring->page))
		memcpy(&word, ring->page + at, sizeof(word));
	return word;
}

/* 0, 1 if there is no page, or -errno. */
static int read_page(struct trace_ring *ring)
{
	ssize_t length = read(ring->fd, ring->page, sizeof(ring->page));
	u64 count = 1;
	u32 commit;

	if (length < 0 && (errno == EAGAIN || errno == EINTR))
		return 1;
	if (length < 0)
		return -errno;
	if (length < HEADER)
		return 1;
	memcpy(&ring->time, ring->page, sizeof(ring->time));
	commit = word_at(ring, 8);
	ring->at = HEADER;
	ring->end = HEADER + (commit & COMMIT_LENGTH);
	if (ring->end > (size_t)length)
		ring->end = (size_t)length;
	if (commit & LOST) {
		if (commit & LOST_STORED && ring->end + sizeof(count) <= (size_t)length)
			memcpy(&count, ring->page + ring->end, sizeof(count));
		ring->lost += count;
		ring->gap = true;
	}
	return 0;
}

/* Takes the entry at ring->at; it is an event, or only says what time it is. */
static void take_entry(struct trace_ring *ring)
{
	u32 head = word_at(ring, ring->at), type = head & 31, delta = head >> 5;
	u32 next = word_at(ring, ring->at + 4);

	switch (type) {
	case TYPE_PADDING:
		ring->at = delta ? ring->at + 4 + next : ring->end;
		ring->time += delta;
		return;
	case TYPE_EXTEND:
		ring->time += ((u64)next << 27) + delta;
		ring->at += 8;
		return;
	case TYPE_STAMP:
		ring->time = (ring->time & 0x1full << 59) | ((u64)next << 27) | delta;
		ring->at += 8;
		return;
	case 0:
		ring->event = ring->page + ring->at + 8;
		ring->at += 4 + ((next + 3) & ~3u);
		break;
	default:
		ring->event = ring->page + ring->at + 4;
		ring->at += 4 + type * 4;
	}
	ring->time += delta;
	ring->ready = true;
}

int trace_ring_next(struct trace_ring *ring)
{
	int ret = 0;

	ring->ready = false;
	while (!ret && !ring->ready) {
		if (ring->at < ring->end)
			take_entry(ring);
		else
			ret = read_page(ring);
	}
	return ret < 0 ? ret : 0;
}

#define STALE_NS 1000000000
#define TRIES 20

struct known {
	struct who who;
	u64 read;			/* when */
	u32 flags, call, tries;
};

static struct known cache[4096];	/* by the thread's number */

static struct known *look_up(u32 tid)
{
	struct known *known = &cache[tid % ARRAY_SIZE(cache)];
	u64 now = monotonic_now();
	struct task task;

	if (known->who.tid == tid && now - known->read < STALE_NS)
		return known;
	if (known->who.tid != tid) {
		memset(known, 0, sizeof(*known));
		known->who.tid = tid;
		known->who.priority = 120;
	}
	known->who.policy = POLICY_UNKNOWN;
	known->read = now;
	if (!task_read_stat(&task, (pid_t)tid, (pid_t)tid)) {
		memcpy(known->who.comm, task.name, strnlen(task.name, COMM_SIZE));
		known->who.priority = task.priority;
		known->flags = task.flags;
	}
	return known;
}

u32 trace_task_flags(u32 tid)
{
	return tid ? look_up(tid)->flags : 0;
}

void trace_task_who(struct who *who, u32 tid)
{
	memset(who, 0, sizeof(*who));
	if (tid)
		*who = look_up(tid)->who;
}

u32 trace_task_call(u32 tid)
{
	struct known *known = look_up(tid);
	autotext struct text call = { 0 };
	char path[64], *end;

	if (known->call || known->tries++ > TRIES)
		return known->call;
	snprintf(path, sizeof(path), "/proc/%u/syscall", tid);
	if (!file_read(path, &call)) {
		long number = strtol(call.s, &end, 10);

		if (end != call.s && number >= 0)
			known->call = (u32)number + 1;
	}
	return known->call;
}
