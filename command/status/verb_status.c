// SPDX-License-Identifier: GPL-2.0-or-later
#include "finding.h"
#include "isolate/leftovers.h"
#include "lib/file.h"
#include "lib/message.h"
#include "lib/output.h"
#include "lib/timers.h"
#include "lib/verb.h"

/* Of findings that are equally bad, the first is shown first. */
static void (* const checks[])(struct inspection *inspection) = {
	check_journal,
	check_activity,
	check_isolation,
	check_timers,
	check_siblings,
	check_preemption,
	check_clock_source,
	check_steering,
	check_resolution,
	check_idle_states,
	check_governor,
	check_irqbalance,
	check_throttling,
	check_fair_server,
	check_tick,
	check_settings,
	check_limits,
	check_unprivileged,
	check_fieldbuses,
};

static int pid;

static int inspect(struct inspection *inspection)
{
	struct isolation *isolation = &inspection->isolation;
	int ret = isolation_open(isolation, false);

	if (!ret)
		ret = tasks_read(&inspection->tasks);
	if (ret)
		return ret;
	if (pid) {
		ret = check_process(inspection, pid);
		findings_sort(&inspection->findings);
		return ret == -ESRCH ? failed(ret, "no such process: %d", pid) : ret;
	}
	inspection->watched = cpus_empty(&isolation->isolated) ? isolation->machine.online :
			      isolation->isolated;
	if (!cpus_empty(&isolation->isolated) || !cpus_empty(&isolation->irqs))
		ret = leftovers_find(&inspection->unmoved, isolation);
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
		checks[i](inspection);
	findings_sort(&inspection->findings);
	return ret;
}

static void json_findings(const struct findings *findings)
{
	json_open("findings", '[');
	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = &findings->items[i];

		json_open(NULL, '{');
		json_string("severity", severity_name(finding->severity));
		json_string("id", finding->id);
		json_string("text", finding->text);
		json_string("mend", finding->mend);
		json_close('}');
	}
	json_close(']');
}

static void print_json(const struct inspection *inspection, const char *release)
{
	const struct isolation *isolation = &inspection->isolation;
	int timers = timers_get();

	json_open(NULL, '{');
	json_string("version", TIMERSHIELD_VERSION);
	json_string("kernel", release);
	json_cpus("online", &isolation->machine.online);
	json_open("isolation", '{');
	json_cpus("procs", &isolation->isolated);
	json_cpus("irqs", &isolation->irqs);
	json_cpus("requested", &isolation->procs);
	json_cpus("isolcpus", &isolation->booted);
	leftovers_json("unmoved", &inspection->unmoved);
	json_close('}');
	json_open("timers", '{');
	json_bool("present", timers >= 0);
	json_bool("on", timers > 0);
	json_string("mode", timers < 0 ? NULL : timers_mode_name(timers));
	json_close('}');
	json_findings(&inspection->findings);
	json_close('}');
}

static void print_finding(const struct finding *finding, bool colour)
{
	static const char * const colours[] = {
		[FINDING_BAD] = "\033[1;31m",
		[FINDING_WARNING] = "\033[1;33m",
		[FINDING_UNKNOWN] = "\033[1;35m",
		[FINDING_NOTE] = "\033[1m",
		[FINDING_GOOD] = "\033[32m",
	};

	printf("  %s%-7s%s  ", colour ? colours[finding->severity] : "",
	       severity_name(finding->severity), colour ? "\033[0m" : "");
	output_wrapped(finding->text, 11);
	if (*finding->mend) {
		printf("           -> ");
		output_wrapped(finding->mend, 14);
	}
}

static void print_pretty(const struct inspection *inspection, const char *release)
{
	unsigned int count = cpus_count(&inspection->isolation.machine.online);
	bool colour = output_has_colour();

	printf("Linux %s, %u CPU%s\n", release, count, count == 1 ? "" : "s");
	for (size_t i = 0; i < inspection->findings.count; i++)
		print_finding(&inspection->findings.items[i], colour);
	if (inspection->unmoved.count)
		puts("On isolated CPUs:");
	leftovers_print_grouped(&inspection->unmoved, "  ");
}

static bool check;

static const struct verb_option options[] = {
	{ "pid", 'p', "PID", "report whether this process is ready for real time", "<pids>",
	  .number = &pid, .least = 1, .most = INT_MAX },
	{ "check", 0, NULL, "exit with status 1 if any finding is bad", .flag = &check },
	{ 0 }
};

static void print_process(const struct inspection *inspection)
{
	if (output == OUTPUT_JSON) {
		json_open(NULL, '{');
		json_number("pid", (unsigned long long)pid);
		json_findings(&inspection->findings);
		json_close('}');
		return;
	}
	for (size_t i = 0; i < inspection->findings.count; i++)
		print_finding(&inspection->findings.items[i], output_has_colour());
}

static int run(int argc, char **argv)
{
	struct inspection inspection = { 0 };
	autotext struct text release = { 0 };
	int status, ret;

	ret = inspect(&inspection);
	if (file_read_line("/proc/sys/kernel/osrelease", &release))
		text_add(&release, "of unknown version");
	status = ret ? (int)status_of(ret) : STATUS_OK;
	if (pid && !ret)
		print_process(&inspection);
	else if (!pid && output == OUTPUT_JSON)
		print_json(&inspection, release.s);
	else if (!pid)
		print_pretty(&inspection, release.s);
	/* The worst is first. */
	if (!status && check && inspection.findings.count &&
	    inspection.findings.items[0].severity == FINDING_BAD)
		status = STATUS_FAILED;
	leftovers_free(&inspection.unmoved);
	findings_free(&inspection.findings);
	tasks_free(&inspection.tasks);
	isolation_close(&inspection.isolation);
	return status;
}

const struct verb verb_status = {
	.name = "status",
	.arguments = "[OPTION]...",
	.summary = "report what this machine has and lacks for exact timing",
	.about =
"It lists the worst findings first, each with its remedy, and then the tasks and interrupts\n"
"that isolated CPUs still have. It calls a finding unknown if it cannot read the files, and\n"
"gives the reason. Root can read more.\n",
	.options = options,
	.run = run,
};
