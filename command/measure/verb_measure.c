// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/message.h"
#include "lib/output.h"
#include "lib/verb.h"
#include "measure_print.h"
#include "worst_wakeups.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { OPTION_INTERVAL = OPTION_OWN, OPTION_MAX, OPTION_CSV, OPTION_NO_BLAME };

struct request {
	long cpu, priority, interval, seconds, max;	/* us, s; max 0: none */
	bool csv, no_blame;
};

/* -1 to go on, or the exit status. */
static int parse(const char *what, long least, long most, long *number)
{
	char *end;

	errno = 0;
	*number = strtol(optarg, &end, 10);
	if (errno || end == optarg || *end || *number < least || *number > most)
		return usage_error("measure", "%s wants a number from %ld to %ld, not '%s'", what,
				   least, most, optarg);
	return -1;
}

static int take_option(struct request *request, int option)
{
	switch (option) {
	case 'c':
		return parse("--cpu", 0, CPU_SETSIZE - 1, &request->cpu);
	case 'p':
		return parse("--priority", 0, 99, &request->priority);
	case OPTION_INTERVAL:
		return parse("--interval", 50, 1000000, &request->interval);
	case 's':
		return parse("--seconds", 1, 10000000, &request->seconds);
	case OPTION_MAX:
		return parse("--max", 1, 1000000000, &request->max);
	case OPTION_CSV:
		request->csv = true;
		return -1;
	case OPTION_NO_BLAME:
		request->no_blame = true;
		return -1;
	default:
		return verb_option(&verb_measure, option);
	}
}

/* The last CPU on which we may run: the first ones get most interrupts. */
static unsigned int choose_cpu(const struct request *request)
{
	unsigned int chosen = 0;
	cpu_set_t allowed;

	if (request->cpu >= 0)
		return (unsigned int)request->cpu;
	CPU_ZERO(&allowed);
	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (unsigned int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &allowed))
			chosen = i;
	return chosen;
}

/* This thread goes elsewhere, if it may. */
static void leave_cpu(unsigned int cpu)
{
	cpu_set_t allowed;

	CPU_ZERO(&allowed);
	sched_getaffinity(0, sizeof(allowed), &allowed);
	CPU_CLR(cpu, &allowed);
	if (CPU_COUNT(&allowed))
		sched_setaffinity(0, sizeof(allowed), &allowed);
}

static void start_blame(const struct request *request, struct session *session,
			const struct loop *loop)
{
	session->config.victims_are = VICTIMS_TARGETS;
	if (request->no_blame || session_start(session, NULL, NULL)) {
		session->source = NULL;
		if (!request->no_blame)
			notice("the worst wake-ups come without their reasons");
		return;
	}
	session_add(session, (pid_t)loop->tid);
	session_go(session);
}

static void wait_for_end(struct session *session, struct loop *loop, struct worst_wakeups *reasons)
{
	while (!atomic_load(&loop->ended)) {
		struct timespec pause = { .tv_nsec = 10000000 };

		nanosleep(&pause, NULL);
		if (session_interrupted)
			atomic_store(&loop->stop, true);
		if (session->source && !session_update(session))
			worst_wakeups_update(reasons, session, loop);
	}
}

static void explain(int error, const struct loop *loop)
{
	if (error == -EINVAL)
		failed(error, "CPU %u is offline, does not exist, or this process may not use it",
		       loop->cpu);
	else if (error == -EPERM)
		failed(error, "FIFO %d needs root, or CAP_SYS_NICE; --priority=0 needs nothing",
		       loop->priority);
	else
		failed(error, "the loop: %s", strerror(-error));
}

static void show(const struct request *request, const struct loop *loop,
		 const struct report *report)
{
	if (request->csv)
		measure_csv(loop);
	else if (output == OUTPUT_JSON)
		measure_json(loop, report);
	else
		measure_print_text(loop, report);
	measure_save(loop);
}

static int measure(const struct request *request)
{
	struct loop *loop = grow(NULL, 1, sizeof(*loop));
	struct session session = { .source = NULL };
	struct report report = { .source = "none" };
	struct worst_wakeups reasons = { 0 };
	bool too_late;
	int ret;

	memset(loop, 0, sizeof(*loop));
	loop->cpu = choose_cpu(request);
	loop->priority = (int)request->priority;
	loop->interval = (u64)request->interval * 1000;
	mlockall(MCL_CURRENT | MCL_FUTURE);
	ret = loop_start(loop);
	if (ret == -EAGAIN) {
		/* its stack is more than this user may lock */
		munlockall();
		ret = loop_start(loop);
	}
	if (!ret) {
		leave_cpu(loop->cpu);
		start_blame(request, &session, loop);
		loop_go(loop, (u64)request->seconds * 1000000000);
		wait_for_end(&session, loop, &reasons);
	}
	loop_join(loop);
	if (ret)
		explain(ret, loop);
	if (session.source) {
		report.source = session.source->name;
		worst_wakeups_report(&reasons, loop, &report);
		session_stop(&session);
	}
	if (loop->wakeups)
		show(request, loop, &report);
	too_late = request->max && loop->longest > (u64)request->max * 1000;
	report_free(&report);
	worst_wakeups_free(&reasons);
	free(loop);
	return ret ? status_of(ret) : too_late ? STATUS_FAILED : STATUS_OK;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "cpu", required_argument, NULL, 'c' },
		{ "priority", required_argument, NULL, 'p' },
		{ "interval", required_argument, NULL, OPTION_INTERVAL },
		{ "seconds", required_argument, NULL, 's' },
		{ "max", required_argument, NULL, OPTION_MAX },
		{ "csv", no_argument, NULL, OPTION_CSV },
		{ "no-blame", no_argument, NULL, OPTION_NO_BLAME },
		COMMON_OPTIONS,
		{ 0 }
	};
	struct request request = { .cpu = -1, .priority = 80, .interval = 1000, .seconds = 10 };
	int option, status;

	while ((option = getopt_long(argc, argv, "c:p:s:h", options, NULL)) != -1) {
		status = take_option(&request, option);
		if (status >= 0)
			return status;
	}
	if (optind < argc)
		return usage_error("measure", "'%s' is one argument too many", argv[optind]);
	session_catch_signals();
	return measure(&request);
}

const struct verb verb_measure = {
	.name = "measure",
	.arguments = "[-c CPU] [-p PRIORITY] [-s SECONDS] [OPTION]...",
	.summary = "how exact this machine is: a periodic loop's wake-up latency and noise",
	.help =
"  -c, --cpu=CPU        where the loop runs (default: the last CPU that it may use)\n"
"  -p, --priority=N     its FIFO priority (80); 0: an ordinary task\n"
"  -s, --seconds=N      for so long (10); Ctrl-C ends it earlier, with the result\n"
"      --interval=US    its period (1000); it reads the clock for half of it\n"
"      --max=US         exit status 1 if a wake-up was later than this\n"
"      --no-blame       do not look for the reasons of the worst wake-ups\n"
"      --csv, --json    the histogram, everything: for programs\n",
	.run = run,
};
