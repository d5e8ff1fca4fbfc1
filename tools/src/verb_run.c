// SPDX-License-Identifier: GPL-2.0-or-later
#include "cgroup.h"
#include "file.h"
#include "lock.h"
#include "message.h"
#include "mlock.h"
#include "proc.h"
#include "shield.h"
#include "task.h"
#include "verb.h"
#include "util.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNSET (-1)
#define ROUNDS 10

struct request {
	struct cpus cpus;
	bool listed, mlock;
	int policy, priority;
	pid_t pid;
	char **command, *program;
};

static const struct option options[] = {
	{ "cpus", required_argument, NULL, 'c' },
	{ "priority", required_argument, NULL, 'p' },
	{ "policy", required_argument, NULL, 's' },
	{ "mlock", no_argument, NULL, 'm' },
	{ "pid", required_argument, NULL, 'P' },
	COMMON_OPTIONS,
	{ 0 }
};

static const struct {
	const char *name;
	int policy;
	bool real_time;
} policies[] = {
	{ "fifo", SCHED_FIFO, true },
	{ "rr", SCHED_RR, true },
	{ "other", SCHED_OTHER, false },
	{ "batch", SCHED_BATCH, false },
	{ "idle", SCHED_IDLE, false },
};

/* Statuses of this verb that cannot be taken for the command's own. */
static int own_status(int ret)
{
	return ret ? STATUS_RUN_FAILED : STATUS_OK;
}

static int usage(const char *format, const char *word)
{
	failed(0, format, word);
	fputs("'timershield help run' tells how to use it.\n", stderr);
	return STATUS_RUN_FAILED;
}

static int parse_number(const char *text, int first, int last, int *number)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < first || value > last)
		return -EINVAL;
	*number = (int)value;
	return 0;
}

static int find_policy(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++)
		if (!strcmp(policies[i].name, name))
			return policies[i].policy;
	return UNSET;
}

static bool is_real_time(int policy)
{
	return policy == SCHED_FIFO || policy == SCHED_RR;
}

/* -1 to go on, or the exit status. */
static int take_option(struct request *request, int option)
{
	int status, ret;

	switch (option) {
	case 'c':
		request->listed = true;
		ret = cpus_parse(&request->cpus, optarg, strlen(optarg));
		if (!ret && !cpus_empty(&request->cpus))
			return -1;
		usage_cpus("run", optarg, ret);
		return STATUS_RUN_FAILED;
	case 'p':
		if (parse_number(optarg, 1, 99, &request->priority))
			return usage("'%s' is no priority: 1 to 99, the highest", optarg);
		return -1;
	case 's':
		request->policy = find_policy(optarg);
		return request->policy != UNSET ? -1 :
		       usage("'%s' is no policy: fifo, rr, other, batch, idle", optarg);
	case 'm':
		request->mlock = true;
		return -1;
	case 'P':
		return !parse_number(optarg, 1, INT_MAX, &request->pid) ? -1 :
		       usage("'%s' is no process id", optarg);
	default:
		status = verb_option(&verb_run, option);
		return status == STATUS_USAGE ? STATUS_RUN_FAILED : status;
	}
}

static int check_combination(struct request *request)
{
	if (request->priority != UNSET && request->policy == UNSET)
		request->policy = SCHED_FIFO;
	if (is_real_time(request->policy) && request->priority == UNSET)
		return usage("fifo and rr need a priority: -p 1 to 99%s", "");
	if (!is_real_time(request->policy) && request->priority != UNSET)
		return usage("only fifo and rr have a priority%s", "");
	if (request->pid && *request->command)
		return usage("either -P or a command: '%s'", *request->command);
	if (!request->pid && !*request->command)
		return usage("which command? Or -P for a running process%s", "");
	if (request->pid && request->mlock)
		return usage("--mlock is for programs that are started, not with -P%s", "");
	if (request->mlock && !mlock_supported())
		return usage("--mlock is not supported on this architecture%s", "");
	return -1;
}

static int take_arguments(struct request *request, int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "+c:p:s:mP:h", options, NULL)) != -1) {
		int status = take_option(request, option);

		if (status >= 0)
			return status;
	}
	request->command = argv + optind;
	return check_combination(request);
}

static int check_program(const char *path)
{
	struct stat state;

	if (stat(path, &state))
		return -errno;
	if (S_ISDIR(state.st_mode))
		return -EISDIR;
	return access(path, X_OK) ? -errno : 0;
}

/* Where exec() would find the command, so that errors come before anything is done. */
static int find_program(struct request *request)
{
	const char *name = request->command[0], *list = getenv("PATH");
	char *directories, *rest, *directory;
	int ret = -ENOENT, worst = -ENOENT;

	if (strchr(name, '/')) {
		request->program = copy(name);
		return check_program(name);
	}
	directories = copy(list ? list : "/usr/bin:/bin");
	rest = directories;
	while (ret && (directory = strsep(&rest, ":"))) {
		free(request->program);
		request->program = format("%s/%s", *directory ? directory : ".", name);
		ret = check_program(request->program);
		if (ret && ret != -ENOENT && ret != -ENOTDIR)
			worst = ret;
	}
	free(directories);
	return ret ? worst : 0;
}

static int program_error(const struct request *request, int ret)
{
	failed(ret, "cannot run %s: %s", request->command[0], strerror(-ret));
	return ret == -ENOENT || ret == -ENOTDIR ? STATUS_NOT_FOUND : STATUS_CANNOT_EXECUTE;
}

static int choose_cpus(struct request *request, const struct shield *shield)
{
	struct cpus outside;
	char *list, *named;

	if (shield->backend == BACKEND_NONE || cpus_empty(&shield->procs))
		return failed(-EINVAL, "no CPU is shielded: 'timershield shield CPULIST' first");
	if (!request->listed)
		request->cpus = shield->procs;
	outside = cpus_and_not(&request->cpus, &shield->procs);
	if (cpus_empty(&outside))
		return 0;
	list = cpus_list(&outside);
	named = cpus_named(&outside);
	failed(-EINVAL, "%s %s not shielded: 'timershield shield %s' first", named,
	       cpus_count(&outside) > 1 ? "are" : "is", list);
	free(named);
	free(list);
	return -EINVAL;
}

/* Noted first where it came from, so that unshield can send it back. */
static int enter_partition(struct shield *shield, pid_t pid)
{
	char *origin = cgroup_of(pid), *name = format("run-%d", pid);
	struct run_group *known = journal_run(&shield->journal, name);
	int ret = 0;

	if (!origin) {
		ret = failed(-ESRCH, "there is no process %d", pid);
	} else if (!cgroup_is_ours(origin)) {
		cgroup_remove_unused(shield->mount, &shield->journal);
		known = journal_run(&shield->journal, name);
		if (known)
			journal_drop_run(&shield->journal, known);
		journal_add_run(&shield->journal, name, origin, 0);
		ret = journal_save(&shield->journal);
		if (ret)
			failed(ret, JOURNAL_FILE ": %s", strerror(-ret));
		else
			ret = cgroup_enter(shield->mount, name, pid);
	}
	free(name);
	free(origin);
	return ret;
}

static int set_affinity(pid_t tid, const struct cpus *cpus)
{
	int ret = task_set_affinity(tid, cpus);
	char *list;

	if (ret && ret != -ESRCH) {
		list = cpus_named(cpus);
		failed(ret, "cannot let %d run on %s: %s%s", tid, list, strerror(-ret),
		       ret == -EPERM ? " (run as root)" : "");
		free(list);
	}
	return ret;
}

static int set_policy(pid_t tid, const struct request *request)
{
	const struct sched_param param = {
		.sched_priority = request->priority == UNSET ? 0 : request->priority,
	};

	if (request->policy == UNSET || !sched_setscheduler(tid, request->policy, &param))
		return 0;
	if (errno == ESRCH)
		return -ESRCH;
	return failed(-errno, "cannot set the policy of %d: %s%s", tid, strerror(errno),
		      errno == EPERM ? " (run as root)" : "");
}

/* Affinity before policy: at its new rank it must not run beside other tasks. */
static int set_thread(const struct task *task, void *argument)
{
	const struct request *request = argument;
	int ret = set_affinity(task->tid, &request->cpus);

	if (!ret)
		ret = set_policy(task->tid, request);
	return ret == -ESRCH ? 0 : ret;
}

struct missed {
	const struct request *request;
	unsigned int count;
};

static int count_missed(const struct task *task, void *argument)
{
	struct missed *missed = argument;

	missed->count += !cpus_equal(&task->cpus, &missed->request->cpus);
	return 0;
}

/*
 * Threads may start others meanwhile: until all have the affinity, or cannot have it
 * because their cpuset lacks some of the CPUs.
 */
static int set_all_threads(struct request *request)
{
	struct missed missed = { .request = request, .count = 1 };
	int ret = 0;

	for (unsigned int i = 0; i < ROUNDS && !ret && missed.count; i++) {
		missed.count = 0;
		ret = task_for_each_thread(request->pid, set_thread, request);
		if (!ret)
			ret = task_for_each_thread(request->pid, count_missed, &missed);
	}
	if (ret == -ESRCH)
		failed(ret, "process %d has gone", request->pid);
	else if (!ret && missed.count)
		notice("%u threads of %d may run on some of these CPUs only, by their cpuset",
		       missed.count, request->pid);
	return ret;
}

static int place(struct request *request, struct shield *shield)
{
	pid_t pid = request->pid ? request->pid : getpid();
	int ret = choose_cpus(request, shield);

	if (!ret && shield->backend == BACKEND_CGROUP)
		ret = enter_partition(shield, pid);
	if (ret)
		return ret;
	if (request->pid)
		return set_all_threads(request);
	ret = set_affinity(0, &request->cpus);
	/* 1 ns instead of 50 us: what ordinary policies' sleeps may be late by. */
	prctl(PR_SET_TIMERSLACK, 1);
	return ret;
}

/* The kernel's own shield needs neither journal nor lock, only privilege. */
static int place_locked(struct request *request)
{
	struct shield shield;
	int lock = proc_available() ? UNSET : lock_take(), ret;

	if (lock < 0 && lock != UNSET)
		return lock;
	ret = shield_open(&shield, BACKEND_NONE, true);
	if (!ret && shield.damaged)
		ret = shield_refuse_damaged();
	if (!ret)
		ret = place(request, &shield);
	shield_close(&shield);
	if (lock != UNSET)
		close(lock);
	return ret;
}

static int execute(struct request *request)
{
	int ret = find_program(request);

	if (ret)
		return program_error(request, ret);
	ret = place_locked(request);
	if (!ret && request->mlock)
		ret = mlock_next_program();
	/* Last, for from here on the new rank holds. */
	if (!ret)
		ret = set_policy(0, request);
	if (ret)
		return own_status(ret);
	execv(request->program, request->command);
	return program_error(request, -errno);
}

static int run(int argc, char **argv)
{
	struct request request = { .policy = UNSET, .priority = UNSET };
	int status = take_arguments(&request, argc, argv);

	if (status >= 0)
		return status;
	status = request.pid ? own_status(place_locked(&request)) : execute(&request);
	free(request.program);
	return status;
}

const struct verb verb_run = {
	.name = "run",
	.arguments = "[-c CPULIST] [-s POLICY] [-p PRIORITY] [--mlock] -- COMMAND...\n"
		     "       timershield run [-c CPULIST] [-s POLICY] [-p PRIORITY] -P PID",
	.summary = "start a command on shielded CPUs, or move a process there",
	.help =
"  -c, --cpus=CPULIST   these of the shielded CPUs (default: all of them)\n"
"  -s, --policy=NAME    fifo, rr, other, batch or idle (default: fifo with -p, else as it is)\n"
"  -p, --priority=N     1 to 99, the highest, for fifo and rr\n"
"      --mlock          lock the program's memory, what it will get included\n"
"  -P, --pid=PID        do it to a running process and all its threads\n\n"
"Affinity is set before policy and priority, and everything is checked before the command\n"
"starts. The command takes this process's place: its exit status and signals are its own.\n"
"Statuses of timershield: 125 nothing was started, 126 the command cannot be executed,\n"
"127 there is no such command.\n",
	.run = run,
};
