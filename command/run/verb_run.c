// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/message.h"
#include "lib/text.h"
#include "lib/verb.h"
#include "schedule.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct request {
	struct placement placement;
	char **command, *program;
};

static const struct option options[] = {
	{ "cpus", required_argument, NULL, 'c' },
	{ "priority", required_argument, NULL, 'p' },
	{ "policy", required_argument, NULL, 's' },
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
		request->placement.listed = true;
		ret = cpus_parse(&request->placement.cpus, optarg, strlen(optarg));
		if (!ret && !cpus_empty(&request->placement.cpus))
			return -1;
		usage_cpus("run", optarg, ret);
		return STATUS_RUN_FAILED;
	case 'p':
		if (parse_number(optarg, 1, 99, &request->placement.priority))
			return usage("'%s' is no priority: 1 to 99, the highest", optarg);
		return -1;
	case 's':
		request->placement.policy = find_policy(optarg);
		return request->placement.policy != UNSET ? -1 :
		       usage("'%s' is no policy: fifo, rr, other, batch, idle", optarg);
	case 'P':
		return !parse_number(optarg, 1, INT_MAX, &request->placement.pid) ? -1 :
		       usage("'%s' is no process id", optarg);
	default:
		status = verb_option(&verb_run, option);
		return status == STATUS_USAGE ? STATUS_RUN_FAILED : status;
	}
}

static int check_combination(struct request *request)
{
	if (request->placement.priority != UNSET && request->placement.policy == UNSET)
		request->placement.policy = SCHED_FIFO;
	if (is_real_time(request->placement.policy) && request->placement.priority == UNSET)
		return usage("fifo and rr need a priority: -p 1 to 99%s", "");
	if (!is_real_time(request->placement.policy) && request->placement.priority != UNSET)
		return usage("only fifo and rr have a priority%s", "");
	if (request->placement.pid && *request->command)
		return usage("either -P or a command: '%s'", *request->command);
	if (!request->placement.pid && !*request->command)
		return usage("which command? Or -P for a running process%s", "");
	return -1;
}

static int take_arguments(struct request *request, int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "+c:p:s:P:h", options, NULL)) != -1) {
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
	autofree char *directories = NULL;
	char *rest, *directory;
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
	return ret ? worst : 0;
}

static int program_error(const struct request *request, int ret)
{
	failed(ret, "cannot run %s: %s", request->command[0], strerror(-ret));
	return ret == -ENOENT || ret == -ENOTDIR ? STATUS_NOT_FOUND : STATUS_CANNOT_EXECUTE;
}

static int execute(struct request *request)
{
	int ret = find_program(request);

	if (ret)
		return program_error(request, ret);
	ret = schedule_process(&request->placement);
	/* Last, for from here on the new rank holds. */
	if (!ret)
		ret = schedule_thread(0, &request->placement);
	if (ret)
		return own_status(ret);
	execv(request->program, request->command);
	return program_error(request, -errno);
}

static int run(int argc, char **argv)
{
	struct request request = { .placement = { .policy = UNSET, .priority = UNSET } };
	int status = take_arguments(&request, argc, argv);

	if (status >= 0)
		return status;
	status = request.placement.pid ? own_status(schedule_process(&request.placement)) :
		 execute(&request);
	free(request.program);
	return status;
}

const struct verb verb_run = {
	.name = "run",
	.arguments = "[-c CPULIST] [-s POLICY] [-p PRIORITY] -- COMMAND...\n"
		     "       timershield run [-c CPULIST] [-s POLICY] [-p PRIORITY] -P PID",
	.summary = "start a command on isolated CPUs, or move a process there",
	.help =
"  -c, --cpus=CPULIST   these CPUs (default: all isolated ones); they need not be isolated\n"
"  -s, --policy=NAME    fifo, rr, other, batch or idle (default: fifo with -p, else unchanged)\n"
"  -p, --priority=N     1 to 99, the highest, for fifo and rr\n"
"  -P, --pid=PID        move a running process with all its threads instead; or set the\n"
"                       priority of a kernel thread, and with -c its CPUs\n\n"
"Affinity is set before policy and priority, and everything is checked before the command\n"
"starts. The command replaces this process: its exit status and signals are its own.\n"
"Statuses of timershield: 125 nothing was started, 126 the command cannot be executed,\n"
"127 there is no such command.\n",
	.run = run,
};
