// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/message.h"
#include "lib/output.h"
#include "lib/timers.h"
#include "lib/verb.h"

static int show(void)
{
	int state = timers_get();

	if (state < 0 && state != -ENOENT)
		return status_of(failed(state, TIMERS_SWITCH ": %s", strerror(-state)));
	if (output == OUTPUT_JSON) {
		json_open(NULL, '{');
		json_bool("present", state >= 0);
		json_string("kind", timers_kind());
		if (state >= 0)
			json_bool("on", state > 0);
		else
			json_string("on", NULL);
		json_string("mode", state < 0 ? NULL : timers_mode_name(state));
		json_close('}');
	} else if (state < 0) {
		puts(timers_module_there() ?
		     "The timer shield is a module that is not loaded: 'timershield timers on' loads it." :
		     "This kernel has no timer shield, and no module for it is installed.");
	} else {
		printf("The timer shield is %s%s (%s).\n", state ? "on" : "off",
		       state == TIMERS_LEVELS ? ", with levels" : "", timers_kind());
	}
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
	.summary = "switch the kernel's timer shield",
	.about =
"  on       while a real-time task runs, timers of ordinary tasks do not interrupt its CPU. This\n"
"           is the mode for most systems. It loads the module if the shield is not built in\n"
"  levels   also timers of real-time tasks of lower priority do not. Only where every real-time\n"
"           task is pinned to one CPU: one that is not may wake up to two ticks later. The module\n"
"           has it, and the shield built into Linux 7.3\n"
"  off      as without the shield\n"
"  status   the default: print whether the kernel has the shield and whether it is on\n",
	.words = "on levels off status",
	.run = run,
};
