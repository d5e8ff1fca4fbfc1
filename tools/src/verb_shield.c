// SPDX-License-Identifier: GPL-2.0-or-later
#include "change.h"
#include "config.h"
#include "lock.h"
#include "message.h"
#include "shield.h"
#include "summary.h"
#include "timers.h"
#include "verb.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OPTION_ONLY = OPTION_OWN, OPTION_BACKEND, OPTION_CONFIG };

struct request {
	struct config config;
	const char *file;
	bool procs, irqs, only;
};

static const struct option options[] = {
	{ "procs", no_argument, NULL, 'p' },
	{ "irqs", no_argument, NULL, 'i' },
	{ "only", no_argument, NULL, OPTION_ONLY },
	{ "dry-run", no_argument, NULL, 'n' },
	{ "backend", required_argument, NULL, OPTION_BACKEND },
	{ "config", optional_argument, NULL, OPTION_CONFIG },
	COMMON_OPTIONS,
	{ 0 }
};

/* -1 to go on, or the exit status. */
static int take_option(struct request *request, int option)
{
	switch (option) {
	case 'p':
		request->procs = true;
		return -1;
	case 'i':
		request->irqs = true;
		return -1;
	case 'n':
		change_only_list();
		return -1;
	case OPTION_ONLY:
		request->only = true;
		return -1;
	case OPTION_BACKEND:
		if (backend_parse(optarg, &request->config.backend))
			return usage_error("shield", "'%s' is no backend: auto, proc, cgroup",
					   optarg);
		return -1;
	case OPTION_CONFIG:
		request->file = optarg ? optarg : CONFIG_FILE;
		return -1;
	default:
		return verb_option(&verb_shield, option);
	}
}

static int take_list(struct request *request, const char *list)
{
	int ret = cpus_parse(&request->config.cpus, list, strlen(list));

	if (ret || cpus_empty(&request->config.cpus))
		return usage_cpus("shield", list, ret);
	return -1;
}

static int take_config(struct request *request)
{
	enum backend_id backend = request->config.backend;
	int ret = config_load(&request->config, request->file);

	if (backend != BACKEND_NONE)
		request->config.backend = backend;
	request->procs = request->config.procs;
	request->irqs = request->config.irqs;
	request->only = true;
	return ret ? (int)status_of(ret) : -1;
}

static int take_arguments(struct request *request, int argc, char **argv)
{
	int option, status;

	while ((option = getopt_long(argc, argv, "pinh", options, NULL)) != -1) {
		status = take_option(request, option);
		if (status >= 0)
			return status;
	}
	if (request->file) {
		if (optind < argc || request->procs || request->irqs)
			return usage_error("shield",
					   "with --config, the file says which CPUs and what from");
		return take_config(request);
	}
	if (argc != optind + 1)
		return usage_error("shield", optind < argc ? "one list of CPUs, such as 2-3,6" :
				   "which CPUs? A list such as 2-3,6");
	status = take_list(request, argv[optind]);
	if (!request->procs && !request->irqs)
		request->procs = request->irqs = true;
	return status;
}

static int apply(const struct request *request, struct shield *shield)
{
	static const struct cpus none;
	struct cpus procs = request->only ? none : shield->procs;
	struct cpus irqs = request->only ? none : shield->irqs;
	int ret = cpus_empty(&request->config.cpus) ? 0 :
		  machine_check(&shield->machine, &request->config.cpus);

	if (request->procs)
		procs = cpus_or(&procs, &request->config.cpus);
	if (request->irqs)
		irqs = cpus_or(&irqs, &request->config.cpus);
	if (!ret && cpus_subset(&shield->machine.online, &procs))
		ret = machine_check(&shield->machine, &procs);
	if (!ret && cpus_subset(&shield->machine.online, &irqs))
		ret = machine_check(&shield->machine, &irqs);
	return ret ? ret : shield_set(shield, &procs, &irqs);
}

static int apply_locked(const struct request *request)
{
	struct shield shield;
	int ret = shield_open(&shield, request->config.backend, true);

	if (!ret && shield.damaged)
		ret = shield_refuse_damaged();
	if (!ret)
		ret = apply(request, &shield);
	if (!ret)
		ret = summary_print(&shield);
	shield_close(&shield);
	return ret;
}

static int run(int argc, char **argv)
{
	struct request request = { 0 };
	int status = take_arguments(&request, argc, argv);
	int lock, ret;

	if (status >= 0)
		return status;
	lock = lock_take();
	if (lock < 0)
		return status_of(lock);
	ret = apply_locked(&request);
	if (!ret && request.config.timers != CONFIG_KEEP)
		ret = timers_set(request.config.timers == CONFIG_ON);
	close(lock);
	return status_of(ret);
}

const struct verb verb_shield = {
	.name = "shield",
	.arguments = "CPULIST [--procs] [--irqs]",
	.summary = "keep tasks and interrupts off CPUs",
	.help =
"CPULIST is 2, 2-3 or 2-3,6, or a mask such as 0x4c. These CPUs are added to those that\n"
"are shielded already. On a shielded CPU run only tasks that asked for shielded CPUs\n"
"alone ('timershield run') and interrupts that are directed to shielded CPUs alone;\n"
"everything else leaves at once, and what cannot is listed with the reason.\n\n"
"  -p, --procs          from tasks only\n"
"  -i, --irqs           from interrupts only\n"
"      --only           these CPUs and no others\n"
"  -n, --dry-run        list what would be changed, and change nothing\n"
"      --backend=NAME   proc: the kernel's own shield, /proc/shield; cgroup: a cpuset\n"
"                       partition, interrupt affinity and workqueue mask (Linux 6.1 or\n"
"                       later); auto: the first that is there (the default)\n"
"      --config[=FILE]  do what /etc/timershield.conf, or FILE, says\n"
"      --json, --porcelain\n"
"                       for programs\n",
	.run = run,
};
