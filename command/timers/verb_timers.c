// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/message.h"
#include "lib/output.h"
#include "lib/timers.h"
#include "lib/verb.h"

static void print_json(int state, const struct timers_cpu *cpus, size_t count)
{
	json_open(NULL, '{');
	json_bool("present", state >= 0);
	json_string("kind", timers_kind());
	if (state >= 0)
		json_bool("on", state > 0);
	else
		json_string("on", NULL);
	json_string("mode", state < 0 ? NULL : timers_mode_name(state));
	json_open("cpus", '[');
	for (size_t i = 0; i < count; i++) {
		json_open(NULL, '{');
		json_number("cpu", cpus[i].cpu);
		json_number("threshold", cpus[i].threshold);
		json_number("masked", cpus[i].masked);
		json_number("released", cpus[i].released);
		json_number("interrupts_avoided", cpus[i].avoided);
		json_number("longest_hold_ns", cpus[i].longest_hold);
		json_close('}');
	}
	json_close(']');
	json_close('}');
}

static void print_counters(const struct timers_cpu *cpus, size_t count)
{
	struct table table = { .columns = 6 };

	table_add(&table, "CPU\tmasked\treleased\tinterrupts avoided\tlongest hold\tmasks now");
	for (size_t i = 0; i < count; i++) {
		autofree char *level = timers_level_name(cpus[i].threshold);

		table_add(&table, "%u\t%llu\t%llu\t%llu\t%.1f us\t%s%s", cpus[i].cpu,
			  cpus[i].masked, cpus[i].released, cpus[i].avoided,
			  (double)cpus[i].longest_hold / 1000, cpus[i].threshold ? "below " : "",
			  level);
	}
	table_print(&table, "");
}

static int show(void)
{
	struct timers_cpu *cpus = NULL;
	int state = timers_get(), ret;
	size_t count = 0;

	if (state < 0 && state != -ENOENT)
		return status_of(failed(state, TIMERS_SWITCH ": %s", strerror(-state)));
	ret = state < 0 ? 0 : timers_read(&cpus, &count);
	if (ret == -EACCES)
		notice(TIMERS_COUNTERS ": only root may read the counters");
	else if (ret && ret != -ENOENT)
		return status_of(failed(ret, TIMERS_COUNTERS ": %s", strerror(-ret)));
	if (output == OUTPUT_JSON) {
		print_json(state, cpus, count);
	} else if (state < 0) {
		puts(timers_module_there() ?
		     "The timer shield is a module that is not loaded: 'timershield timers on' loads it." :
		     "This kernel has no timer shield (CONFIG_TIMERSHIELD), and no module for it is installed.");
	} else {
		printf("The timer shield is %s%s (%s).\n", state ? "on" : "off",
		       state == TIMERS_LEVELS ? ", with levels" : "", timers_kind());
		if (count)
			print_counters(cpus, count);
		else if (ret == -ENOENT)
			puts("It has no counters: 'perf trace -e timershield:*' shows each timer that was masked.");
	}
	free(cpus);
	return state < 0 ? STATUS_NOT_SUPPORTED : STATUS_OK;
}

static int run(int argc, char **argv)
{
	const char *what = optind < argc ? argv[optind] : "status";

	if (argc > optind + 1)
		return usage_error(&verb_timers, "unexpected argument '%s'", argv[optind + 1]);
	if (!strcmp(what, "status"))
		return show();
	if (timers_mode_parse(what) >= 0)
		return status_of(timers_set(timers_mode_parse(what)));
	return usage_error(&verb_timers, "'%s': expected on, levels, off or status", what);
}

const struct verb verb_timers = {
	.name = "timers",
	.arguments = "[on|levels|off|status]",
	.summary = "switch the kernel's timer shield and show its counters",
	.about =
"  on       while a real-time task runs, timers of ordinary tasks do not interrupt its CPU. This\n"
"           is the mode for most systems. It loads the module if the shield is not built in\n"
"  levels   also timers of real-time tasks of lower priority do not. Only where every real-time\n"
"           task is pinned to one CPU: one that is not may wake up to two ticks later\n"
"  off      as without the shield\n"
"  status   the default: print whether the kernel has the shield and whether it is on; with the\n"
"           module, for each CPU the timers masked and released, the interrupts avoided and the\n"
"           longest hold of a timer, and the level below which timers are masked now\n",
	.words = "on levels off status",
	.run = run,
};
