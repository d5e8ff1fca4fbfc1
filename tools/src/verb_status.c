// SPDX-License-Identifier: GPL-2.0-or-later
#include "file.h"
#include "finding.h"
#include "message.h"
#include "output.h"
#include "summary.h"
#include "timers.h"
#include "verb.h"
#include "util.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void (* const checks[])(struct inspection *inspection) = {
	check_journal,
	check_timers,
	check_shielded,
	check_siblings,
	check_preemption,
	check_clock_source,
	check_idle_states,
	check_governor,
	check_irqbalance,
	check_throttling,
	check_virtual,
	check_interrupts,
	check_tick,
	check_slack,
};

static int inspect(struct inspection *inspection)
{
	struct shield *shield = &inspection->shield;
	int ret = shield_open(shield, BACKEND_NONE, false);

	if (ret)
		return ret;
	inspection->watched = cpus_empty(&shield->procs) ? shield->machine.online : shield->procs;
	if (!cpus_empty(&shield->procs) || !cpus_empty(&shield->irqs))
		ret = unmoved_find(&inspection->unmoved, shield->backend, &shield->procs,
				   &shield->irqs);
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
		checks[i](inspection);
	findings_sort(&inspection->findings);
	return ret;
}

static void read_release(struct text *release)
{
	if (file_read_line("/proc/sys/kernel/osrelease", release))
		text_add(release, "of unknown version");
}

static void print_json(const struct inspection *inspection, const char *release)
{
	const struct shield *shield = &inspection->shield;
	int timers = timers_get();

	json_open(NULL, '{');
	json_string("version", TIMERSHIELD_VERSION);
	json_string("kernel", release);
	json_cpus("online", &shield->machine.online);
	json_open("shield", '{');
	json_string("backend", backend_name(shield->backend));
	json_cpus("procs", &shield->procs);
	json_cpus("irqs", &shield->irqs);
	unmoved_json("unmoved", &inspection->unmoved);
	json_close('}');
	json_open("timers", '{');
	json_bool("present", timers >= 0);
	json_bool("on", timers > 0);
	json_close('}');
	json_open("findings", '[');
	for (size_t i = 0; i < inspection->findings.count; i++) {
		const struct finding *finding = &inspection->findings.items[i];

		json_open(NULL, '{');
		json_string("severity", severity_name(finding->severity));
		json_string("id", finding->id);
		json_string("text", finding->text);
		json_string("mend", finding->mend);
		json_close('}');
	}
	json_close(']');
	json_close('}');
}

static void print_porcelain(const struct inspection *inspection)
{
	for (size_t i = 0; i < inspection->findings.count; i++) {
		const struct finding *finding = &inspection->findings.items[i];

		printf("%s\t%s\t%s\t%s\n", severity_name(finding->severity), finding->id,
		       finding->text, finding->mend);
	}
}

static void print_finding(const struct finding *finding, bool colour)
{
	static const char * const colours[] = {
		[FINDING_BAD] = "\033[1;31m",
		[FINDING_WARNING] = "\033[1;33m",
		[FINDING_NOTE] = "\033[1m",
		[FINDING_GOOD] = "\033[32m",
	};

	printf("  %s%-7s%s  %s\n", colour ? colours[finding->severity] : "",
	       severity_name(finding->severity), colour ? "\033[0m" : "", finding->text);
	if (*finding->mend)
		printf("           -> %s\n", finding->mend);
}

static void print_pretty(const struct inspection *inspection, const char *release)
{
	unsigned int count = cpus_count(&inspection->shield.machine.online);
	bool colour = output_has_colour();

	printf("Linux %s, %u CPU%s\n", release, count, count == 1 ? "" : "s");
	for (size_t i = 0; i < inspection->findings.count; i++)
		print_finding(&inspection->findings.items[i], colour);
	if (inspection->unmoved.count)
		puts("On shielded CPUs:");
	unmoved_print(&inspection->unmoved, "  ");
}

static int take_arguments(int argc, char **argv)
{
	static const struct option options[] = { COMMON_OPTIONS, { 0 } };
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		int status = verb_option(&verb_status, option);

		if (status >= 0)
			return status;
	}
	if (optind < argc)
		return usage_error("status", "'%s' is one argument too many", argv[optind]);
	return -1;
}

static int run(int argc, char **argv)
{
	struct inspection inspection = { 0 };
	struct text release = { 0 };
	int status = take_arguments(argc, argv);
	int ret;

	if (status >= 0)
		return status;
	ret = inspect(&inspection);
	read_release(&release);
	if (output == OUTPUT_JSON)
		print_json(&inspection, release.s);
	else if (output == OUTPUT_PORCELAIN)
		print_porcelain(&inspection);
	else
		print_pretty(&inspection, release.s);
	text_free(&release);
	unmoved_free(&inspection.unmoved);
	findings_free(&inspection.findings);
	shield_close(&inspection.shield);
	return status_of(ret);
}

const struct verb verb_status = {
	.name = "status",
	.arguments = "",
	.summary = "what this machine has and lacks for exact timing",
	.help =
"The worst first, each with the command that mends it; then what still runs or interrupts\n"
"on shielded CPUs. Where root alone may look, others see less.\n\n"
"      --json, --porcelain\n"
"                       for programs; a line of the latter is SEVERITY, ID, TEXT, MEND\n",
	.run = run,
};
