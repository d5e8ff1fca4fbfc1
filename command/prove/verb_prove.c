// SPDX-License-Identifier: GPL-2.0-or-later
#include "prove_print.h"
#include "trial.h"

#include "lib/cgroup.h"
#include "lib/file.h"
#include "lib/machine.h"
#include "lib/message.h"
#include "lib/output.h"
#include "lib/task.h"
#include "lib/timers.h"
#include "lib/verb.h"

#include <sched.h>

#define GROUP "timershield-prove"

static struct {
	int cpu, seconds;
	bool load, levels, progress;
	const char *next_to, *report;
} request = { .cpu = -1, .seconds = 30 };

static const struct verb_option options[] = {
	{ "cpu", 'c', "CPU", "run loop and loads there (default: the last CPU that it may use)",
	  "<cpus>", .number = &request.cpu, .least = 0, .most = CPU_SETSIZE - 1 },
	{ "seconds", 's', "N", "measure for N seconds, all turns together (30)",
	  .number = &request.seconds, .least = 1, .most = 86400 },
	{ "next-to", 0, "LOAD", "measure next to this load, such as threads:n=400, and next to nothing",
	  "timerfds posix-timers threads itimers hogs sleepers cyclictest", .text = &request.next_to },
	{ "load", 0, NULL,
	  "load the shield's module if it is not loaded, and unload it afterwards",
	  .flag = &request.load },
	{ "levels", 0, NULL,
	  "let the shield mask by level next to FIFO tasks (kernel.timershield=2)",
	  .flag = &request.levels },
	{ "report", 0, "FILE", "write figures and pictures to FILE, one HTML page",
	  "<files>", .text = &request.report },
	{ "progress", 0, NULL, "say what is measured, even if standard error is no terminal",
	  .flag = &request.progress },
	{ 0 }
};

static void interrupt(int number)
{
	loads_interrupted = 1;
}

static int choose_cpu(unsigned int *cpu)
{
	struct cpus chosen = { 0 };
	struct machine machine;
	int ret;

	*cpu = request.cpu < 0 ? task_last_cpu() : (unsigned int)request.cpu;
	cpus_add(&chosen, *cpu);
	ret = machine_read(&machine);
	return ret ? ret : machine_check_online(&machine, &chosen);
}

/* Before anything is changed: where it is, how it is, and the journal that says so. */
static int prepare(struct prove *prove)
{
	autofree char *mount = cgroup_find_mount();
	const int before = timers_get();
	int ret;

	if (before < 0 && before != -ENOENT)
		return failed(before, TIMERS_SWITCH ": %s", strerror(-before));
	if (request.load && before < 0 && !timers_module_there())
		return failed(-EOPNOTSUPP, "there is no module " TIMERS_MODULE " for this kernel; without --load prove measures what timers take from it");
	prove->group = mount ? format("%s/" GROUP, mount) : NULL;
	ret = undo_begin(&prove->journal, prove->group, request.load && before < 0);
	prove->shield = timers_get() >= 0;
	prove->mode = before == TIMERS_LEVELS ? TIMERS_LEVELS : TIMERS_CLASSES;
	prove->kind = timers_kind();
	return ret;
}

/* With the journal's lock: nobody isolates CPUs meanwhile. */
static int measure(struct prove *prove)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = interrupt, .sa_flags = SA_RESTART };
	int ret, other;

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &action, NULL);
	ret = undo_leftovers(&prove->journal);
	if (ret)
		return ret;
	ret = prepare(prove);
	if (!ret)
		ret = trials_run(prove);
	other = undo_all(&prove->journal);
	if (ret == -EINTR)
		failed(ret, "interrupted: %zu of %zu loads were measured to the end, and everything is as before",
		       prove->count, load_kind_count);
	return ret ? ret : other;
}

/* If nothing was measured there is no page: the file stays as it was. */
static int print(const struct prove *prove, FILE *report, const char *command)
{
	if (!prove->count) {
		if (report)
			fclose(report);
		return 0;
	}
	if (output == OUTPUT_JSON)
		prove_print_json(prove);
	else
		prove_print(prove);
	return report ? page_write(report, prove, command) : 0;
}

static int prove_all(const char *command)
{
	struct prove prove = {
		.seconds = (unsigned int)request.seconds,
		.levels = request.levels, .progress = request.progress,
	};
	int ret = choose_cpu(&prove.loop.cpu), lock, other;
	FILE *report = NULL;

	if (ret)
		return ret;
	if (request.report) {
		report = page_open(request.report);
		if (!report)
			return -errno;
	}
	lock = journal_lock();
	if (lock < 0)
		return lock;
	ret = measure(&prove);
	close(lock);
	other = print(&prove, report, command);
	trials_free(&prove);
	free(prove.group);
	journal_free(&prove.journal);
	return ret ? ret : other;
}

static int run(int argc, char **argv)
{
	autotext struct text command = { 0 };

	text_add(&command, "timershield prove");
	for (int i = 1; i < argc; i++)
		text_add(&command, " %s", argv[i]);
	if (*file_root())
		return usage_error(&verb_prove, "it measures this machine, not a directory (--root)");
	if (request.next_to && load_choose(request.next_to))
		return usage_error(&verb_prove, "'%s': there is no such load, or it has no such setting",
				   request.next_to);
	if (geteuid())
		return status_of(failed(-EPERM, "prove runs real-time tasks and switches the shield: run it as root"));
	return status_of(prove_all(command.s));
}

const struct verb verb_prove = {
	.name = "prove",
	.arguments = "[OPTION]...",
	.summary = "measure whether the timer shield helps on this machine",
	.about =
"A FIFO 99 loop does 300 us of work every millisecond: alone, next to 1,000 timerfds, 50\n"
"sleeping threads, 100 FIFO tasks that wake up together, and two tasks that compute; each\n"
"with the shield off, on and off again. It restores everything when it ends, also after\n"
"Ctrl-C. If prove is killed, its next start restores the rest.\n"
"\n"
"LOAD is KIND:SETTING,... such as sleepers:n=1000,spread,periods=long. Kinds of ordinary\n"
"tasks: timerfds, posix-timers, threads, itimers, hogs; of FIFO tasks: sleepers, cyclictest.\n"
"Settings: n=N; for FIFO tasks also priority=N or spread (over 1 to 90), sync, period=NS or\n"
"periods=bosch (the default: 1 to 1000 ms), long (at least 5 ms), drift or long+drift.\n",
	.options = options,
	.run = run,
};
