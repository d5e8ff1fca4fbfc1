// SPDX-License-Identifier: GPL-2.0-or-later
#include "timers.h"
#include "change.h"
#include "file.h"
#include "message.h"

int timers_get(void)
{
	long long value;
	int ret = file_read_number(TIMERS_SWITCH, &value);

	return ret ? ret : (int)value;
}

static const char * const mode_names[] = { "off", "on", "levels" };

const char *timers_mode_name(int mode)
{
	return mode_names[mode < TIMERS_LEVELS ? mode : TIMERS_LEVELS];
}

int timers_mode_parse(const char *name)
{
	for (int i = 0; i < (int)ARRAY_SIZE(mode_names); i++)
		if (!strcmp(name, mode_names[i]))
			return i;
	return -EINVAL;
}

bool timers_module_there(void)
{
	autotext struct text release = { 0 };
	autofree char *path = NULL;

	file_read_line("/proc/sys/kernel/osrelease", &release);
	path = format("/lib/modules/%s/modules.dep", release.s);
	return file_has(path, "/" TIMERS_MODULE ".ko");
}

bool timers_module_possible(void)
{
	static const char * const versions[] = { "6.1.", "6.12.", "7.2.", "7.3." };
	autotext struct text release = { 0 };

	file_read_line("/proc/sys/kernel/osrelease", &release);
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		if (!strncmp(release.s, versions[i], strlen(versions[i])))
			return true;
	return false;
}

const char *timers_kind(void)
{
	if (!file_exists(TIMERS_SWITCH))
		return timers_module_there() ? "module, not loaded" : "absent";
	return file_exists("/sys/module/" TIMERS_MODULE "/initstate") ? "module" : "built in";
}

/* Whether there is one, or a module of it. */
static int timers_check(void)
{
	if (timers_get() != -ENOENT || timers_module_there())
		return 0;
	return failed(-EOPNOTSUPP,
		      "this kernel has no timer shield, and no module " TIMERS_MODULE " is installed for it");
}

int timers_load(int mode)
{
	int ret = mode == TIMERS_OFF ? 0 : timers_check();

	if (!ret && mode != TIMERS_OFF && timers_get() == -ENOENT)
		ret = change_modprobe(TIMERS_MODULE);
	return !ret || ret == -EOPNOTSUPP ? ret :
	       failed(ret, "cannot load the module " TIMERS_MODULE "%s",
		      geteuid() ? " (run as root)" : "; dmesg may tell why");
}

int timers_set(int mode)
{
	autofree char *value = format("%d", mode);
	const int is = timers_get();
	int ret = timers_check();

	if (ret || is == mode || (is == -ENOENT && mode == TIMERS_OFF))
		return ret;
	ret = timers_load(mode);
	if (ret)
		return ret;
	ret = change_write(TIMERS_SWITCH, value);
	if (ret == -EINVAL && mode == TIMERS_LEVELS)
		return failed(ret, "this kernel's shield has one mode: 'timershield timers on'");
	return ret ? failed(ret, TIMERS_SWITCH ": %s%s", strerror(-ret),
			    ret == -EACCES || ret == -EPERM ? " (run as root)" : "") : 0;
}
