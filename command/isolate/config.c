// SPDX-License-Identifier: GPL-2.0-or-later
#include "config.h"
#include "lib/file.h"
#include "lib/message.h"
#include "lib/timers.h"

#define BLANKS " \t\r"

static int parse_yes(const char *value, bool *yes)
{
	*yes = !strcmp(value, "yes");
	return *yes || !strcmp(value, "no") ? 0 : -EINVAL;
}

static int parse_value(struct config *config, const char *key, const char *value)
{
	if (!strcmp(key, "cpus"))
		return cpus_parse(&config->cpus, value);
	if (!strcmp(key, "procs"))
		return parse_yes(value, &config->procs);
	if (!strcmp(key, "irqs"))
		return parse_yes(value, &config->irqs);
	config->timers = timers_mode_parse(value);
	return config->timers < 0 && strcmp(value, "keep") ? -EINVAL : 0;
}

static const char * const keys[][2] = {
	{ "cpus", "a CPU list such as 2-3,6, or none" },
	{ "procs", "yes or no" },
	{ "irqs", "yes or no" },
	{ "timers", "keep, on, levels or off" },
};

/* Of 2.0.0. */
static const char * const former_keys[][2] = {
	{ "write", "use sysctl.d(5) or tmpfiles.d(5)" },
	{ "priority", "use 'timershield run -p N -P TID' for each thread, or rtirq" },
	{ "threaded", "use 'echo 1 >/sys/class/net/INTERFACE/threaded' in a script or udev rule" },
};

static char *trim(char *text)
{
	size_t length;

	text += strspn(text, BLANKS);
	length = strlen(text);
	while (length && strchr(BLANKS, text[length - 1]))
		text[--length] = '\0';
	return text;
}

static int parse_line(struct config *config, const char *name, unsigned int number, char *line)
{
	char *value, *key;

	line[strcspn(line, "#")] = '\0';
	line = trim(line);
	if (!*line)
		return 0;
	value = strchr(line, '=');
	if (!value)
		return failed(-EINVAL, "%s:%u: '%s': expected KEY = VALUE", name, number, line);
	*value++ = '\0';
	key = trim(line);
	value = trim(value);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (strcmp(keys[i][0], key))
			continue;
		if (parse_value(config, key, value))
			return failed(-EINVAL, "%s:%u: '%s' for %s: must be %s", name, number,
				      value, key, keys[i][1]);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(former_keys); i++)
		if (!strcmp(former_keys[i][0], key)) {
			notice("%s:%u: not done: %s: %s", name, number, key, former_keys[i][1]);
			return 0;
		}
	return failed(-EINVAL, "%s:%u: unknown key '%s'", name, number, key);
}

int config_load(struct config *config, const char *path)
{
	autotext struct text text = { 0 };
	unsigned int number = 0;
	char *rest, *line;
	int ret = file_read(path, &text);

	*config = (struct config){ .procs = true, .irqs = true, .timers = -1 };
	if (ret)
		return failed(ret, "%s: %s", path, strerror(-ret));
	if (memchr(text.s, '\0', text.length))
		return failed(-EINVAL, "%s: there is a zero byte in it", path);
	for (rest = text.s; !ret && (line = strsep(&rest, "\n")); )
		ret = parse_line(config, path, ++number, line);
	return ret;
}
