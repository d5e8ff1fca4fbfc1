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

enum { OPTION_INTERVAL = OPTION_OWN, OPTION_MAX, OPTION_CSV };

static const struct verb_option options[] = {
	{ "cpu", 'c', "CPU", "run the loop there (default: the last CPU that it may use)",
	  "<cpus>" },
	{ "priority", 'p', "N", "its FIFO priority (80); 0: an ordinary task", NULL },
	{ "seconds", 's', "N", "stop after N seconds (10); Ctrl-C stops earlier, with the result",
	  NULL },
	{ "interval", OPTION_INTERVAL, "US",
	  "its period (1000); it reads the clock for half of each period", NULL },
	{ "max", OPTION_MAX, "US", "exit with status 1 if a wake-up was later than this", NULL },
	{ "csv", OPTION_CSV, NULL, "print the histogram as CSV", NULL },
	{ 0 }
};

struct request {
	long cpu, priority, interval, seconds, max;	/* us, s; max 0: none */
	bool csv;
};

static int take_option(void *argument, int option)
{
	struct request *request = argument;
	const struct verb *verb = &verb_measure;

	switch (option) {
	case 'c':
		return take_number(verb, option, 0, CPU_SETSIZE - 1, &request->cpu);
	case 'p':
		return take_number(verb, option, 0, 99, &request->priority);
	case 's':
		return take_number(verb, option, 1, 10000000, &request->seconds);
	case OPTION_INTERVAL:
		return take_number(verb, option, 50, 1000000, &request->interval);
	case OPTION_MAX:
		return take_number(verb, option, 1, 1000000000, &request->max);
	default:
		request->csv = true;
		return -1;
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

static void start_blame(struct session *session, const struct loop *loop)
{
	session->config.victims_are = VICTIMS_TARGETS;
	if (session_start(session, NULL, NULL)) {
		session->source = NULL;
		notice("no causes are shown for the worst wake-ups");
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
		start_blame(&session, loop);
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
	struct request request = { .cpu = -1, .priority = 80, .interval = 1000, .seconds = 10 };
	int status = verb_parse(&verb_measure, argc, argv, &request);

	if (status >= 0)
		return status;
	if (optind < argc)
		return usage_error(&verb_measure, "unexpected argument '%s'", argv[optind]);
	session_catch_signals();
	return measure(&request);
}

const struct verb verb_measure = {
	.name = "measure",
	.arguments = "[OPTION]...",
	.summary = "measure a periodic loop's wake-up latency and what it loses while it runs",
	.about = "",
	.options = options,
	.take = take_option,
	.run = run,
};
