// SPDX-License-Identifier: GPL-2.0-or-later
#include "config.h"
#include "isolation.h"
#include "leftovers.h"
#include "lib/change.h"
#include "lib/file.h"
#include "lib/message.h"
#include "lib/timers.h"
#include "lib/verb.h"

static struct {
	struct config config;
	const char *file;
	bool procs, irqs, only, by_affinity, by_config;
} request;

static int take_file(const struct verb *verb)
{
	request.file = optarg ? optarg : CONFIG_FILE;
	return -1;
}

static const struct verb_option options[] = {
	{ "procs", 0, NULL, "isolate from tasks only", .flag = &request.procs },
	{ "irqs", 0, NULL, "isolate from interrupts only; needs no cpuset controller",
	  .flag = &request.irqs },
	{ "by-affinity", 0, NULL,
	  "by the affinities of tasks, without a partition: any task may select such a CPU",
	  .flag = &request.by_affinity },
	{ "only", 0, NULL, "isolate these CPUs and no others", .flag = &request.only },
	{ "dry-run", 'n', NULL, "list the changes and make none; needs root as well",
	  .flag = &change_only_list },
	{ "config", 0, "[FILE]", "do what /etc/timershield.conf, or FILE, says",
	  "<files>", .take = take_file },
	{ 0 }
};

static const struct verb_option undo_options[] = {
	{ "procs", 0, NULL, "end the isolation from tasks only", .flag = &request.procs },
	{ "irqs", 0, NULL, "end the isolation from interrupts only", .flag = &request.irqs },
	{ "dry-run", 'n', NULL, "list the changes and make none; needs root as well",
	  .flag = &change_only_list },
	{ 0 }
};

static int take_arguments(int argc, char **argv)
{
	int status;

	if (request.file) {
		if (optind < argc || request.procs || request.irqs)
			return usage_error(&verb_isolate, "--config takes all of this from the file");
		return -1;
	}
	if (argc != optind + 1)
		return usage_error(&verb_isolate, "expected one list of CPUs, such as 2-3,6");
	status = take_cpus(&verb_isolate, argv[optind], &request.config.cpus);
	if (!request.procs && !request.irqs)
		request.procs = request.irqs = true;
	if (request.by_affinity && !request.procs)
		return usage_error(&verb_isolate, "--by-affinity isolates from tasks");
	return status;
}

/* All CPUs are isolated in one way: a task's affinity is stripped, or its cpuset lacks them. */
static int choose_way(struct isolation *isolation)
{
	autofree char *are = cpus_are(&isolation->procs);

	if (!request.procs)
		return 0;
	if (!cpus_empty(&isolation->procs) &&
	    isolation->journal.by_affinity != request.by_affinity)
		return failed(-EBUSY, "%s isolated %s: 'timershield unisolate' first", are,
			      request.by_affinity ? "by a partition" : "by affinity");
	isolation->journal.by_affinity = request.by_affinity;
	return 0;
}

/* A dry run lists what a module that it does not load would be told. */
static int prepare_timers(const struct config *config)
{
	autofree char *mode = format("%d", config->timers);
	int ret = config->timers < 0 ? 0 : timers_load(config->timers);

	if (!ret && config->timers > TIMERS_OFF && !file_exists(TIMERS_SWITCH))
		ret = change_write(TIMERS_SWITCH, mode);
	return ret;
}

static int apply(struct isolation *isolation)
{
	static const struct cpus none;
	const struct cpus *cpus = &request.config.cpus, *online = &isolation->machine.online;
	struct cpus procs = request.only ? none : isolation->procs;
	struct cpus irqs = request.only ? none : isolation->irqs, booted;
	autofree char *are = NULL;
	int ret = cpus_empty(cpus) ? 0 : machine_check(&isolation->machine, cpus);

	if (!ret)
		ret = choose_way(isolation);
	if (request.procs)
		procs = cpus_or(&procs, cpus);
	if (request.irqs)
		irqs = cpus_or(&irqs, cpus);
	isolation->journal.gives = request.by_config;
	isolation->journal.timers = request.config.timers;
	/* The kernel keeps tasks off these since boot, and makes no partition of them. */
	booted = cpus_and(&procs, &isolation->booted);
	are = cpus_are(&booted);
	if (!cpus_empty(&booted))
		notice("%s isolated from tasks since boot (isolcpus=)", are);
	procs = cpus_and_not(&procs, &booted);
	if (!ret && (cpus_subset(online, &procs) || cpus_subset(online, &irqs)))
		ret = machine_check(&isolation->machine, online);
	if (!ret)
		ret = isolation_refuse_taken(isolation, &procs);
	if (!ret && request.by_config)
		ret = prepare_timers(&request.config);
	return ret ? ret : isolation_set(isolation, &procs, &irqs);
}

static int undo(struct isolation *isolation)
{
	const struct cpus *leaving = &request.config.cpus;
	const bool all = cpus_empty(leaving);
	struct cpus procs = isolation->procs, irqs = isolation->irqs;

	if (request.procs)
		procs = cpus_and_not(&procs, all ? &isolation->procs : leaving);
	if (request.irqs)
		irqs = cpus_and_not(&irqs, all ? &isolation->irqs : leaving);
	isolation->journal.gives = request.procs && request.irqs && all;
	isolation->journal.timers = -1;
	/* Without journal nothing of ours is there. */
	if (!isolation->journal.exists)
		return change_only_list ? 0 : journal_settle(&isolation->journal);
	return isolation_set(isolation, &procs, &irqs);
}

typedef int change_fn(struct isolation *isolation);

static int run_change(change_fn *change)
{
	struct isolation isolation;
	int lock = journal_lock(), ret;

	if (lock < 0)
		return status_of(lock);
	ret = isolation_open(&isolation, true);
	if (!ret && (isolation.damaged || isolation.lost))
		ret = isolation_refuse_damaged(&isolation);
	if (!ret)
		ret = change(&isolation);
	if (!ret)
		ret = isolate_print(&isolation);
	isolation_close(&isolation);
	close(lock);
	return status_of(ret);
}

static int run(int argc, char **argv)
{
	int status = take_arguments(argc, argv), ret;

	if (status >= 0 || !request.file)
		return status >= 0 ? status : run_change(apply);
	ret = config_load(&request.config, request.file);
	request.procs = request.config.procs;
	request.irqs = request.config.irqs;
	request.only = request.by_config = true;
	return ret ? (int)status_of(ret) : run_change(apply);
}

static int run_undo(int argc, char **argv)
{
	int status = -1;

	if (!request.procs && !request.irqs)
		request.procs = request.irqs = true;
	if (argc > optind + 1)
		return usage_error(&verb_unisolate, "expected one list of CPUs, such as 2-3,6");
	if (optind < argc)
		status = take_cpus(&verb_unisolate, argv[optind], &request.config.cpus);
	return status >= 0 ? status : run_change(undo);
}

const struct verb verb_isolate = {
	.name = "isolate",
	.arguments = "CPULIST [OPTION]...",
	.summary = "keep tasks and interrupts off CPUs",
	.about =
"CPULIST is 2, 2-3 or 2-3,6, or a mask such as 0x4c. These CPUs are added to those that are\n"
"isolated already. An isolated CPU runs only tasks whose affinity has only isolated CPUs\n"
"('timershield run'), and receives only interrupts that are directed only to isolated CPUs.\n"
"Everything else leaves at once. If something cannot leave, it is listed with the reason.\n",
	.options = options,
	.words = "<cpus>",
	.run = run,
};

const struct verb verb_unisolate = {
	.name = "unisolate",
	.arguments = "[CPULIST] [OPTION]...",
	.summary = "end the isolation of CPUs",
	.about =
"Without CPULIST this ends all isolation. It restores each value that 'timershield isolate'\n"
"changed, even if that was interrupted half-way. A value that somebody else changed since\n"
"stays.\n",
	.options = undo_options,
	.words = "<cpus>",
	.run = run_undo,
};
