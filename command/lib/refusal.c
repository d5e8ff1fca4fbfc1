// SPDX-License-Identifier: GPL-2.0-or-later
#include "refusal.h"
#include "cgroup.h"
#include "file.h"
#include "kernel.h"
#include "message.h"

#define CAP_SYS_NICE 23
#define HIGHEST 99

static bool has_capability(void)
{
	autofree char *effective = file_find("/proc/self/status", "CapEff:");

	return effective && strtoull(effective, NULL, 16) >> CAP_SYS_NICE & 1;
}

/* The first user namespace maps all ids; CAP_SYS_NICE of another one does not count here. */
static bool in_user_namespace(void)
{
	autofree char *map = file_find("/proc/self/uid_map", "");
	unsigned int inside, outside, count;

	return map && sscanf(map, "%u %u %u", &inside, &outside, &count) == 3 &&
	       count != 4294967295u;
}

long long refusal_limit(void)
{
	autofree char *limit = NULL;

	if (has_capability() && !in_user_namespace())
		return HIGHEST;
	limit = file_find("/proc/self/limits", "Max realtime priority");
	return !limit ? -1 : strstr(limit, "unlimited") == limit + strspn(limit, " ") ? HIGHEST :
	       atoll(limit);
}

/* A group without budget, and the file that moves a task out of it; NULL: it is not to blame. */
static char *group_without_budget(pid_t tid, char **root)
{
	autofree char *group = cgroup_of(tid, root), *probe = NULL;

	if (!group || !kernel_has("CONFIG_RT_GROUP_SCHED"))
		return NULL;
	/* The group that counts is the next one up with the controller: not the root? */
	probe = format("%s%.*s/cpu.weight", *root,
		       (int)(1 + strcspn(group + strlen(*root) + 1, "/")), group + strlen(*root));
	return file_exists(probe) ? copy(group) : NULL;
}

static bool find_budget(struct refusal *refusal, pid_t tid)
{
	autofree char *root = NULL, *group = NULL, *who = NULL;
	long long limit;

	/* Without a limit for the whole there is none for a group. */
	if (!file_read_number("/proc/sys/kernel/sched_rt_runtime_us", &limit) && limit < 0)
		return false;
	group = group_without_budget(tid, &root);
	if (!group)
		return false;
	refusal->reason = format("its cgroup has no real-time budget (%s)", group);
	/* This process is gone when that is read: its shell is meant. */
	who = tid && tid != gettid() ? format("%d", tid) : copy("$$");
	refusal->mend = format("echo %s >%s/cgroup.procs; or sysctl kernel.sched_rt_runtime_us=-1", who,
			       root);
	return true;
}

bool refusal_find(struct refusal *refusal, pid_t tid, int priority)
{
	autofree char *filter = file_find("/proc/self/status", "Seccomp:");
	long long limit = refusal_limit();

	*refusal = (struct refusal){ 0 };
	if (limit >= priority && find_budget(refusal, tid))
		return true;
	if (limit >= priority) {
		if (!filter || atoi(filter) != 2)
			return false;
		refusal->reason = copy("a seccomp filter is on, and may refuse sched_setscheduler()");
		refusal->mend = copy("allow sched_setscheduler() there, in a container by --cap-add=SYS_NICE or --security-opt seccomp=PROFILE");
		return true;
	}
	refusal->reason = format("%s, and RLIMIT_RTPRIO (ulimit -r) is %lld", has_capability() ?
				 "CAP_SYS_NICE does not count in a user namespace" :
				 "CAP_SYS_NICE is missing", limit < 0 ? 0 : limit);
	refusal->mend = copy(has_capability() ? "start it outside the namespace; or raise the limit there: ulimit -r 99" :
			     "run as root; or a line 'NAME - rtprio 99' in /etc/security/limits.conf, then log in again");
	return true;
}

void refusal_free(struct refusal *refusal)
{
	free(refusal->reason);
	free(refusal->mend);
}

int refusal_failed(int error, pid_t tid, int priority)
{
	struct refusal refusal = { 0 };
	autofree char *who = tid ? format("%d", tid) : copy("this process");
	autofree char *what = priority ? format("FIFO %d", priority) : copy("its policy");
	const char *reason = strerror(-error);

	if (error == -EPERM)
		reason = refusal_find(&refusal, tid, priority) ? refusal.reason :
			 "not permitted, although CAP_SYS_NICE is there: a security module may refuse it";
	failed(error, "cannot give %s %s: %s%s%s", who, what, reason, refusal.mend ? ": " : "", refusal.mend ? refusal.mend : "");
	refusal_free(&refusal);
	return error;
}
