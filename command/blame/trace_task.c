// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace_task.h"

#include "lib/file.h"
#include "lib/task.h"
#include "session.h"

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
