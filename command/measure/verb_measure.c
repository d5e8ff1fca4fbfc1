// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/message.h"
#include "lib/refusal.h"
#include "lib/output.h"
#include "lib/task.h"
#include "lib/verb.h"
#include "worst_wakeups.h"

#include <sched.h>
#include <sys/mman.h>
#include <time.h>

/* us, s; max and stop 0: none */
static struct {
	struct cpus cpus;		/* empty: the last one */
	int priority, interval, seconds, max, stop;
	bool csv;
} request = { .priority = 80, .interval = 1000, .seconds = 10 };

static const struct verb_option options[] = {
	{ "cpus", 'c', "CPULIST",
	  "run a loop on each of these CPUs (default: the last one that it may use)", "<cpus>",
	  .cpus = &request.cpus },
	{ "priority", 'p', "N", "the loop's FIFO priority (80); 0: an ordinary task",
	  .number = &request.priority, .least = 0, .most = 99 },
	{ "seconds", 's', "N", "stop after N seconds (10); Ctrl-C stops earlier, with the result",
	  .number = &request.seconds, .least = 1, .most = 10000000 },
	{ "interval", 0, "US",
	  "the loop's period (1000); it reads the clock for half of each period",
	  .number = &request.interval, .least = 50, .most = 1000000 },
	{ "max", 0, "US", "exit with status 1 if a wake-up was later than US",
	  .number = &request.max, .least = 1, .most = 1000000000 },
	{ "stop", 0, "US",
	  "stop at the first wake-up later than US, print its timeline, and exit with status 1",
	  .number = &request.stop, .least = 1, .most = 1000000000 },
	{ "csv", 0, NULL, "print the histogram as CSV", .flag = &request.csv },
	{ 0 }
};

/* A loop on each CPU. */
struct loops {
	struct loop *items;
	unsigned int count;
};

static struct loops make_loops(void)
{
	struct cpus cpus = request.cpus;
	struct loops loops = { 0 };

	if (cpus_empty(&cpus))
		cpus_add(&cpus, task_last_cpu());
	loops.items = zeroed(cpus_count(&cpus), sizeof(*loops.items));
	cpus_for_each(cpu, &cpus) {
		struct loop *loop = &loops.items[loops.count++];

		loop->cpu = cpu;
		loop->priority = request.priority;
		loop->interval = (u64)request.interval * 1000;
	}
	return loops;
}

/* This thread goes elsewhere, if it may. */
static void leave_cpus(const struct loops *loops)
{
	cpu_set_t allowed;

	CPU_ZERO(&allowed);
	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (unsigned int i = 0; i < loops->count; i++)
		CPU_CLR(loops->items[i].cpu, &allowed);
	if (CPU_COUNT(&allowed))
		sched_setaffinity(0, sizeof(allowed), &allowed);
}

static void start_blame(struct session *session, const struct loops *loops)
{
	session->config.victims_are = VICTIMS_TARGETS;
	if (session_start(session, NULL)) {
		notice("no causes are shown for the worst wake-ups");
		return;
	}
	for (unsigned int i = 0; i < loops->count; i++)
		session_add(session, (pid_t)loops->items[i].tid);
	session_go(session);
}

static bool all_ended(const struct loops *loops)
{
	for (unsigned int i = 0; i < loops->count; i++)
		if (!atomic_load(&loops->items[i].ended))
			return false;
	return true;
}

static void stop_all(const struct loops *loops)
{
	for (unsigned int i = 0; i < loops->count; i++)
		atomic_store(&loops->items[i].stop, true);
}

static void wait_for_end(struct session *session,
			 struct loops *loops, struct worst_wakeups *reasons)
{
	u64 limit = request.stop ? (u64)request.stop * 1000 : ~0ull;

	while (!all_ended(loops)) {
		struct timespec pause = { .tv_nsec = 10000000 };
		bool late = false;

		nanosleep(&pause, NULL);
		for (unsigned int i = 0; i < loops->count; i++)
			late |= atomic_load(&loops->items[i].latest) > limit;
		if (session_interrupted || late)
			stop_all(loops);
		for (unsigned int i = 0; session->running && i < loops->count; i++)
			if (!session_update(session))
				worst_wakeups_update(&reasons[i], session, &loops->items[i]);
	}
}

static void explain(int error, const struct loop *loop)
{
	if (error == -EINVAL)
		failed(error, "CPU %u is offline, does not exist, or this process may not use it",
		       loop->cpu);
	else if (error == -EPERM)
		refusal_failed(error, 0, loop->priority);
	else if (error == -EINTR)
		failed(error, "it ended before the first wake-up: nothing was measured");
	else
		failed(error, "the loop: %s", strerror(-error));
}

/* The CPU with the worst wake-up in full, the others in a line. */
static void show(const struct loops *loops, unsigned int worst,
		 const struct report *report)
{
	const struct loop *loop = &loops->items[worst];

	if (request.csv)
		measure_csv(loop);
	else if (output == OUTPUT_JSON)
		measure_json(loops->items, loops->count, worst, report);
	else
		measure_print_text(loops->items, loops->count, worst, report);
	measure_save(loop);
}

static int start(struct loops *loops)
{
	int ret = 0;

	mlockall(MCL_CURRENT | MCL_FUTURE);
	for (unsigned int i = 0; i < loops->count && !ret; i++) {
		ret = loop_start(&loops->items[i]);
		if (ret == -EAGAIN) {
			/* its stack is more than this user may lock */
			munlockall();
			ret = loop_start(&loops->items[i]);
		}
		if (ret)
			explain(ret, &loops->items[i]);
	}
	return ret;
}

static unsigned int find_worst(const struct loops *loops)
{
	unsigned int worst = 0;

	for (unsigned int i = 1; i < loops->count; i++)
		if (loops->items[i].longest > loops->items[worst].longest)
			worst = i;
	return worst;
}

/* The exit status. */
static int report_all(struct session *session,
		      const struct loops *loops, const struct worst_wakeups *reasons)
{
	struct report report = { 0 };
	unsigned int worst = find_worst(loops);
	const struct loop *loop = &loops->items[worst];
	u64 longest = loop->longest;

	if (session->running) {
		worst_wakeups_report(&reasons[worst], loop, &report);
	}
	if (loop->wakeups)
		show(loops, worst, &report);
	else
		explain(-EINTR, loop);
	if (session->running && request.stop && output == OUTPUT_PRETTY && !request.csv)
		worst_wakeups_timeline(&reasons[worst], loop);
	report_free(&report);
	return !loop->wakeups || (request.max && longest > (u64)request.max * 1000) ||
	       (request.stop && longest > (u64)request.stop * 1000) ? STATUS_FAILED : STATUS_OK;
}

static int measure(void)
{
	struct session session = { 0 };
	struct loops loops = make_loops();
	struct worst_wakeups *reasons = zeroed(loops.count, sizeof(*reasons));
	int ret, status = STATUS_OK;

	ret = start(&loops);
	if (!ret) {
		leave_cpus(&loops);
		start_blame(&session, &loops);
		for (unsigned int i = 0; i < loops.count; i++)
			loop_go(&loops.items[i], (u64)request.seconds * 1000000000);
		wait_for_end(&session, &loops, reasons);
	}
	stop_all(&loops);
	for (unsigned int i = 0; i < loops.count; i++)
		loop_join(&loops.items[i]);
	if (!ret)
		status = report_all(&session, &loops, reasons);
	if (session.running)
		session_stop(&session);
	for (unsigned int i = 0; i < loops.count; i++)
		worst_wakeups_free(&reasons[i]);
	free(loops.items);
	free(reasons);
	return ret ? (int)status_of(ret) : status;
}

static int run(int argc, char **argv)
{
	session_catch_signals();
	return measure();
}

const struct verb verb_measure = {
	.name = "measure",
	.arguments = "[OPTION]...",
	.summary = "measure a periodic loop's wake-up latency and what it loses while it runs",
	.about = "",
	.options = options,
	.run = run,
};
