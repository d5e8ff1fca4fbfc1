// SPDX-License-Identifier: GPL-2.0-or-later
#include "blame_print.h"
#include "lib/cpus.h"
#include "lib/machine.h"
#include "lib/message.h"
#include "lib/output.h"
#include "lib/task.h"
#include "lib/verb.h"

#include <limits.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#define PAUSE_NS 20000000		/* until there may be something to do */

static struct {
	struct cpus cpus;
	bool realtime, openmetrics, threads;
	pid_t pid;
	double seconds, interval;	/* 0: not given */
	double over, max;		/* us; 0: not given */
	char **command;
} request;

static const struct verb_option options[] = {
	{ "cpus", 'c', "CPULIST",
	  "watch whatever user tasks run on these CPUs; with -p or COMMAND, watch it only while it is on these CPUs",
	  "<cpus>", .cpus = &request.cpus },
	{ "pid", 'p', "PID", "watch the threads of a process, or one thread, and what they start",
	  "<pids>", .number = &request.pid, .least = 1, .most = INT_MAX },
	{ "realtime", 'r', NULL, "watch them only while they are real-time tasks",
	  .flag = &request.realtime },
	{ "seconds", 's', "N", "stop after N seconds", .decimal = &request.seconds },
	{ "interval", 0, "N",
	  "print every N seconds what was taken since the start, with --json or --openmetrics",
	  .decimal = &request.interval },
	{ "threads", 0, NULL, "a row for each thread, not for each process",
	  .flag = &request.threads },
	{ "over", 0, "US",
	  "count episodes in which a victim was kept from running for longer than US, and print the worst one's timeline",
	  .decimal = &request.over },
	{ "max", 0, "US", "exit with status 1 if an episode was longer than US",
	  .decimal = &request.max },
	{ "openmetrics", 0, NULL, "print all rows as OpenMetrics, for monitoring",
	  .flag = &request.openmetrics },
	{ 0 }
};

struct child {
	pid_t pid;			/* 0: none, or it has ended */
	int go;				/* a byte there: it may begin; closed: it has */
	int status;			/* exit status as a shell has it */
};

/* The child waits until all is ready; what it executes is a victim from its start. */
static int start_child(struct child *child, char **command)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return failed(-errno, "socketpair: %s", strerror(errno));
	fflush(NULL);
	child->pid = fork();
	if (child->pid < 0)
		return failed(-errno, "fork: %s", strerror(errno));
	if (!child->pid) {
		unsigned char c;

		close(ends[1]);
		signal(SIGINT, SIG_DFL);
		if (read(ends[0], &c, 1) != 1)
			_exit(STATUS_RUN_FAILED);
		execvp(command[0], command);
		c = errno == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_EXECUTE;
		failed(-errno, "%s: %s", command[0], strerror(errno));
		_exit(write(ends[0], &c, 1) == 1 ? c : STATUS_RUN_FAILED);
	}
	close(ends[0]);
	child->go = ends[1];
	return 0;
}

/* Whether there is something to watch: false if the command cannot be executed. */
static bool let_child_go(struct child *child)
{
	unsigned char c;

	if (child->go < 0)
		return true;
	/* exec() closes the other end, and so ends read() */
	if (write(child->go, "", 1) != 1)
		child->status = STATUS_RUN_FAILED;
	else if (read(child->go, &c, 1) == 1)
		child->status = c;
	close(child->go);
	child->go = -1;
	if (child->status)
		child->pid = 0;
	return !child->status;
}

static bool child_ended(struct child *child)
{
	int status;

	if (!child->pid || waitpid(child->pid, &status, WNOHANG) != child->pid)
		return false;
	child->pid = 0;
	child->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return true;
}

static void print_rows(const struct report *report, const struct episode *worst, unsigned int cpu)
{
	if (request.openmetrics) {
		report_print_openmetrics(report);
		return;
	}
	json_open(NULL, '{');
	report_print_json(report);
	if (worst && worst->length)
		timeline_print_json(worst, cpu);
	json_close('}');
}

/* main() says what is wrong with standard output, or is silent if its reader has gone. */
static int flush(void)
{
	return fflush(stdout) || ferror(stdout) ? -EIO : 0;
}

static int print_now(struct session *session)
{
	struct report report;
	int ret = session_report(session, &report);

	if (ret)
		return ret;
	print_rows(&report, NULL, 0);
	report_free(&report);
	return flush();
}

static bool is_live(void)
{
	return output == OUTPUT_PRETTY && !request.command && !request.openmetrics &&
	       output_is_terminal();
}

static int watch(struct session *session, struct child *child)
{
	u64 end = request.seconds ? session->config.started + (u64)(request.seconds * 1e9) : ~0ull;
	u64 printed = session->config.started, now;
	struct task task;
	int ret = 0;

	while (!ret && !session_interrupted && (now = clock_ns()) < end && !child_ended(child) &&
	       !(request.pid && task_read_stat(&task, request.pid, request.pid) == -ESRCH)) {
		struct timespec pause = { .tv_nsec = PAUSE_NS };

		if (end - now < PAUSE_NS)
			pause.tv_nsec = (long)(end - now);
		nanosleep(&pause, NULL);
		now = clock_ns();
		ret = session_update(session);
		now = clock_ns();
		if (!ret && is_live())
			ret = live_draw(session);
		if (!ret && request.interval && now - printed >= (u64)(request.interval * 1e9)) {
			printed += (u64)(request.interval * 1e9);
			ret = print_now(session);
		}
	}
	return ret;
}

/* STATUS: what to end with, if anything is wrong with what was found. */
static int print_result(struct session *session, int *status)
{
	bool too_long, rows = output == OUTPUT_JSON || request.openmetrics;
	struct episode *worst;
	struct report report;
	unsigned int cpu = 0;
	int ret;

	session_halt(session);
	ret = session_report(session, &report);
	if (ret)
		return ret;
	worst = session_worst(session, &cpu);
	for (size_t i = 0; request.max > 0 && i < report.count; i++)
		if (microseconds(report.victims[i].sums.longest) > request.max)
			*status = STATUS_FAILED;
	too_long = *status;
	if (!report.count)
		*status = STATUS_FAILED;
	if (rows) {
		print_rows(&report, worst, cpu);
	} else {
		report_print(stdout, &report, 0, false);
		if (request.over > 0 && worst->length)
			timeline_print(worst, cpu);
		else if (request.over > 0)
			printf("No episode was longer than %g us.\n", request.over);
	}
	if (too_long && !rows)
		printf("Longer than --max %g us.\n", request.max);
	report_free(&report);
	free(worst);
	return flush();
}

static int choose_victims(struct session *session,
			  const struct child *child)
{
	autofree char *program = format("/proc/%d/exe", request.pid);
	int ret = 0;

	if (request.pid)
		ret = session_add(session, request.pid);
	if (request.pid || child->pid)
		source_attach_job(request.pid ? program : request.command[0]);
	if (!ret && child->pid)
		ret = session_add(session, child->pid);
	return ret;
}

/* The kernel checks our programs, which takes a second or two, and more if it is busy. */
static void say_that_it_starts(int number)
{
	static const char text[] = "timershield: blame is still starting\n";

	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		return;
}

static int blame(void)
{
	struct session session = {
		.config.over = (u64)(request.over * 1000), .threads = request.threads,
	};
	const struct cpus *cpus = cpus_empty(&request.cpus) ? NULL : &request.cpus;
	struct child child = { .go = -1 };
	int status = STATUS_OK, ret = 0;

	session.config.victims_are = request.pid || request.command ? VICTIMS_TARGETS :
				     cpus && !request.realtime ? VICTIMS_CPUS :
				     VICTIMS_ALL;
	session.config.realtime = request.realtime || session.config.victims_are == VICTIMS_ALL;
	session_catch_signals();
	signal(SIGALRM, say_that_it_starts);
	alarm(1);
	if (request.command)
		ret = start_child(&child, request.command);
	if (!ret && is_live())
		live_start();
	if (!ret)
		ret = session_start(&session, cpus);
	alarm(0);
	if (ret) {
		live_end();
		goto out;
	}
	ret = choose_victims(&session, &child);
	if (!ret)
		session_go(&session);
	if (!ret && let_child_go(&child)) {
		ret = watch(&session, &child);
		if (is_live())
			live_end();
		if (!ret)
			ret = print_result(&session, &status);
	}
	session_stop(&session);
out:
	if (child.go >= 0)
		close(child.go);
	if (child.pid > 0 && child.go < 0 && !session_interrupted)
		notice("%s (PID %d) is still running", request.command[0], child.pid);
	if (ret)
		return status_of(ret);
	return child.status ? child.status : status;
}

static int run(int argc, char **argv)
{
	struct machine machine;
	int ret;

	if (optind < argc)
		request.command = argv + optind;
	if (request.command && request.pid)
		return usage_error(&verb_blame, "give either --pid or a command, not both");
	if (request.openmetrics && output == OUTPUT_JSON)
		return usage_error(&verb_blame, "give one of --json and --openmetrics");
	if (request.interval && !request.openmetrics && output != OUTPUT_JSON)
		return usage_error(&verb_blame, "--interval requires --json or --openmetrics");
	ret = machine_read(&machine);
	if (!ret)
		ret = machine_check_online(&machine, &request.cpus);
	return ret ? (int)status_of(ret) : blame();
}

const struct verb verb_blame = {
	.name = "blame",
	.arguments = "[OPTION]... [COMMAND...]",
	.summary = "find which tasks, timers and interrupts take time from a task or a CPU",
	.about =
"Without -c, -p and COMMAND it watches every real-time task. It ends after SECONDS, when the\n"
"process or COMMAND ends, or with Ctrl-C.\n",
	.options = options,
	.words = "<command>",
	.run = run,
};
