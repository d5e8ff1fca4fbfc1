// SPDX-License-Identifier: GPL-2.0-or-later
#include "message.h"
#include "output.h"
#include "text.h"
#include "timers.h"
#include "verb.h"
#include "util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_json(int state, const struct timers_cpu *cpus, size_t count)
{
	json_open(NULL, '{');
	json_bool("present", state >= 0);
	if (state >= 0)
		json_bool("on", state);
	else
		json_null("on");
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

static void print_porcelain(int state, const struct timers_cpu *cpus, size_t count)
{
	printf("timers\t%s\n", state < 0 ? "absent" : state ? "on" : "off");
	for (size_t i = 0; i < count; i++)
		printf("cpu\t%u\t%u\t%llu\t%llu\t%llu\t%llu\n", cpus[i].cpu, cpus[i].threshold,
		       cpus[i].masked, cpus[i].released, cpus[i].avoided, cpus[i].longest_hold);
}

static void add_number(struct table *table, unsigned long long number)
{
	char *cell = format("%llu", number);

	table_add(table, cell);
	free(cell);
}

static void print_counters(const struct timers_cpu *cpus, size_t count)
{
	static const char * const heads[] = {
		"CPU", "masked", "released", "interrupts avoided", "longest hold", "masks now",
	};
	struct table table = { .columns = ARRAY_SIZE(heads) };

	for (size_t i = 0; i < table.columns; i++)
		table_add(&table, heads[i]);
	for (size_t i = 0; i < count; i++) {
		char *hold = format("%.1f us", (double)cpus[i].longest_hold / 1000);
		char *level = timers_level_name(cpus[i].threshold);
		char *below = cpus[i].threshold ? format("below %s", level) : copy(level);

		add_number(&table, cpus[i].cpu);
		add_number(&table, cpus[i].masked);
		add_number(&table, cpus[i].released);
		add_number(&table, cpus[i].avoided);
		table_add(&table, hold);
		table_add(&table, below);
		free(below);
		free(level);
		free(hold);
	}
	table_print(&table, "");
	table_free(&table);
}

static int show(void)
{
	struct timers_cpu *cpus = NULL;
	int state = timers_get(), ret;
	size_t count = 0;

	if (state < 0 && state != -ENOENT)
		return status_of(failed(state, TIMERS_SWITCH ": %s", strerror(-state)));
	ret = state < 0 ? 0 : timers_read(&cpus, &count);
	if (ret)
		return status_of(failed(ret, TIMERS_COUNTERS ": %s", strerror(-ret)));
	if (output == OUTPUT_JSON) {
		print_json(state, cpus, count);
	} else if (output == OUTPUT_PORCELAIN) {
		print_porcelain(state, cpus, count);
	} else if (state < 0) {
		puts("This kernel has no shield against timers (CONFIG_TIMERSHIELD).");
	} else {
		printf("The shield against timers is %s.\n", state ? "on" : "off");
		print_counters(cpus, count);
	}
	free(cpus);
	return state < 0 ? STATUS_NOT_SUPPORTED : STATUS_OK;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = { COMMON_OPTIONS, { 0 } };
	const char *what;
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		int status = verb_option(&verb_timers, option);

		if (status >= 0)
			return status;
	}
	what = optind < argc ? argv[optind] : "status";
	if (argc > optind + 1)
		return usage_error("timers", "'%s' is one argument too many", argv[optind + 1]);
	if (!strcmp(what, "status"))
		return show();
	if (!strcmp(what, "on") || !strcmp(what, "off"))
		return status_of(timers_set(!strcmp(what, "on")));
	return usage_error("timers", "'%s' is neither on, off nor status", what);
}

const struct verb verb_timers = {
	.name = "timers",
	.arguments = "[on|off|status]",
	.summary = "the kernel's shield against timers: switch it, see its counters",
	.help =
"  on, off      let it mask the timers of lower-ranking tasks, or not\n"
"  status       whether it is there and on, and for each CPU since boot: timers masked\n"
"               and released, interrupts avoided, the longest time that a timer was held\n"
"               back, and the level below which timers are masked now (the default)\n\n"
"      --json, --porcelain\n"
"               for programs\n",
	.run = run,
};
