// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/message.h"
#include "lib/task.h"
#include "lib/verb.h"
#include "schedule.h"

#include <limits.h>
#include <sched.h>
#include <sys/stat.h>

static struct {
	struct placement placement;
	char **command, *program;
} request = {
	.placement = { .policy = UNSET, .priority = UNSET },
};

static int take_policy(const struct verb *verb)
{
	request.placement.policy = policy_parse(optarg);
	return request.placement.policy >= 0 ? -1 :
	       usage_error(verb, "'%s': expected fifo, rr, other, batch or idle", optarg);
}

static const struct verb_option options[] = {
	{ "cpus", 'c', "CPULIST",
	  "use these CPUs (default: all isolated ones); they need not be isolated", "<cpus>",
	  .cpus = &request.placement.cpus },
	{ "policy", 's', "NAME",
	  "scheduling policy: fifo, rr, other, batch or idle (default: fifo with -p, else unchanged)",
	  "fifo rr other batch idle", .take = take_policy },
	{ "priority", 'p', "N", "priority for fifo and rr, from 1 to 99 (the highest)",
	  .number = &request.placement.priority, .least = 1, .most = 99 },
	{ "pid", 'P', "PID",
	  "move a running process with all its threads; for a kernel thread, set its priority, and with -c its CPUs",
	  "<pids>", .number = &request.placement.pid, .least = 1, .most = INT_MAX },
	{ 0 }
};

static bool is_real_time(int policy)
{
	return policy == SCHED_FIFO || policy == SCHED_RR;
}

static int check_combination(void)
{
	struct placement *placement = &request.placement;

	placement->listed = !cpus_empty(&placement->cpus);
	if (placement->priority != UNSET && placement->policy == UNSET)
		placement->policy = SCHED_FIFO;
	if (is_real_time(placement->policy) && placement->priority == UNSET)
		return usage_error(&verb_run, "fifo and rr need a priority: -p 1 to 99");
	if (!is_real_time(placement->policy) && placement->priority != UNSET)
		return usage_error(&verb_run, "only fifo and rr have a priority");
	if (placement->pid && *request.command)
		return usage_error(&verb_run, "give either --pid or a command, not both");
	if (!placement->pid && !*request.command)
		return usage_error(&verb_run, "expected a command, or --pid for a running process");
	return -1;
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
static int find_program(void)
{
	const char *name = request.command[0], *list = getenv("PATH");
	autofree char *directories = NULL;
	char *rest, *directory;
	int ret = -ENOENT, worst = -ENOENT;

	if (strchr(name, '/')) {
		request.program = copy(name);
		return check_program(name);
	}
	directories = copy(list ? list : "/usr/bin:/bin");
	rest = directories;
	while (ret && (directory = strsep(&rest, ":"))) {
		free(request.program);
		request.program = format("%s/%s", *directory ? directory : ".", name);
		ret = check_program(request.program);
		if (ret && ret != -ENOENT && ret != -ENOTDIR)
			worst = ret;
	}
	return ret ? worst : 0;
}

static int program_error(int ret)
{
	failed(ret, "cannot run %s: %s", request.command[0], strerror(-ret));
	return ret == -ENOENT || ret == -ENOTDIR ? STATUS_NOT_FOUND : STATUS_CANNOT_EXECUTE;
}

static int execute(void)
{
	int ret = find_program();

	if (ret)
		return program_error(ret);
	ret = schedule_process(&request.placement);
	/* Last, for from here on the new level holds. */
	if (!ret)
		ret = schedule_thread(0, &request.placement);
	if (ret)
		return STATUS_RUN_FAILED;
	execv(request.program, request.command);
	return program_error(-errno);
}

static int run(int argc, char **argv)
{
	int status;

	request.command = argv + optind;
	status = check_combination();
	if (status >= 0)
		return status;
	if (!request.placement.pid)
		status = execute();
	else
		status = schedule_process(&request.placement) ? STATUS_RUN_FAILED : STATUS_OK;
	free(request.program);
	return status;
}

const struct verb verb_run = {
	.name = "run",
	.arguments = "[OPTION]... -- COMMAND...\n"
		     "       timershield run [OPTION]... -P PID",
	.summary = "start a command on isolated CPUs, or move a process there",
	.about =
"Affinity is set before policy and priority, and everything is checked before the command\n"
"starts. The command replaces this process, so the exit status and signals are those of\n"
"the command.\n"
"timershield's own statuses are 125 (nothing was started), 126 (the command cannot be\n"
"executed) and 127 (the command was not found).\n",
	.options = options,
	.words = "<command>",
	.usage_status = STATUS_RUN_FAILED,
	.run = run,
};
