// SPDX-License-Identifier: GPL-2.0-or-later
#include "change.h"
#include "lock.h"
#include "message.h"
#include "shield.h"
#include "summary.h"
#include "verb.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OPTION_SALVAGE = OPTION_OWN };

struct request {
	struct cpus cpus;
	bool listed, procs, irqs, salvage;
};

static const struct option options[] = {
	{ "procs", no_argument, NULL, 'p' },
	{ "irqs", no_argument, NULL, 'i' },
	{ "dry-run", no_argument, NULL, 'n' },
	{ "salvage", no_argument, NULL, OPTION_SALVAGE },
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
	case OPTION_SALVAGE:
		request->salvage = true;
		return -1;
	default:
		return verb_option(&verb_unshield, option);
	}
}

static int take_arguments(struct request *request, int argc, char **argv)
{
	int option, ret;

	while ((option = getopt_long(argc, argv, "pinh", options, NULL)) != -1) {
		int status = take_option(request, option);

		if (status >= 0)
			return status;
	}
	if (!request->procs && !request->irqs)
		request->procs = request->irqs = true;
	if (optind == argc)
		return -1;
	if (argc > optind + 1)
		return usage_error("unshield", "one list of CPUs, such as 2-3,6");
	request->listed = true;
	ret = cpus_parse(&request->cpus, argv[optind], strlen(argv[optind]));
	if (ret || cpus_empty(&request->cpus))
		return usage_cpus("unshield", argv[optind], ret);
	return -1;
}

static int apply(const struct request *request, struct shield *shield)
{
	const struct cpus *leaving = request->listed ? &request->cpus : NULL;
	struct cpus procs = shield->procs, irqs = shield->irqs;

	if (request->procs)
		procs = cpus_and_not(&procs, leaving ? leaving : &shield->procs);
	if (request->irqs)
		irqs = cpus_and_not(&irqs, leaving ? leaving : &shield->irqs);
	/* Without journal nothing of ours is there, unless the kernel shields itself. */
	if (shield->journal.backend == BACKEND_NONE) {
		if (!change_is_listed())
			journal_remove();
		if (shield->backend == BACKEND_CGROUP)
			return 0;
	}
	return shield_set(shield, &procs, &irqs);
}

/* What a damaged journal does not tell, is looked for as if it told of a change. */
static int salvage(const struct request *request, struct shield *shield)
{
	if (!request->salvage)
		return shield_refuse_damaged();
	shield->journal.changing = true;
	shield->journal.backend = shield->backend;
	notice("undone is what could be read of " JOURNAL_FILE);
	return 0;
}

static int apply_locked(const struct request *request)
{
	struct shield shield;
	int ret = shield_open(&shield, BACKEND_NONE, true);

	if (!ret && shield.damaged)
		ret = salvage(request, &shield);
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
	close(lock);
	return status_of(ret);
}

const struct verb verb_unshield = {
	.name = "unshield",
	.arguments = "[CPULIST] [--procs] [--irqs]",
	.summary = "let tasks and interrupts back on shielded CPUs",
	.help =
"Without CPULIST: on all of them. What 'timershield shield' changed becomes what it was,\n"
"also if that was interrupted half-way; what somebody else changed since stays.\n\n"
"  -p, --procs          for tasks only\n"
"  -i, --irqs           for interrupts only\n"
"  -n, --dry-run        list what would be changed, and change nothing\n"
"      --salvage        go on although the journal, /run/timershield/journal, is damaged\n"
"      --json, --porcelain\n"
"                       for programs\n",
	.run = run,
};
