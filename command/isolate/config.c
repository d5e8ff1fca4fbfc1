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

static int parse_cpus(struct config *config, const char *value)
{
	return cpus_parse(&config->cpus, value, strlen(value));
}

static int parse_procs(struct config *config, const char *value)
{
	return parse_yes(value, &config->procs);
}

static int parse_irqs(struct config *config, const char *value)
{
	return parse_yes(value, &config->irqs);
}

static int parse_timers(struct config *config, const char *value)
{
	config->timers = timers_mode_parse(value);
	return config->timers < 0 && strcmp(value, "keep") ? -EINVAL : 0;
}

static int parse_priority(struct config *config, const char *value)
{
	return priorities_parse(&config->priorities, value);
}

static int parse_threaded(struct config *config, const char *value)
{
	autofree char *path = format("/sys/class/net/%s/threaded", value);

	if (!*value || *value == '.' || strchr(value, '/'))
		return -EINVAL;
	values_add(&config->values, path, "1");
	return 0;
}

static int parse_write(struct config *config, const char *value)
{
	return values_parse(&config->values, value);
}

static const struct key {
	const char *name, *values;
	int (*parse)(struct config *config, const char *value);
} keys[] = {
	{ "cpus", "a CPU list such as 2-3,6, or none", parse_cpus },
	{ "procs", "yes or no", parse_procs },
	{ "irqs", "yes or no", parse_irqs },
	{ "timers", "keep, on, levels or off", parse_timers },
	{ "priority", "1 to 98 and a pattern for names, such as 80 irq/*-eth0*; 64 lines at most",
	  parse_priority },
	{ "threaded", "the name of a network device", parse_threaded },
	{ "write", "a file below /proc or /sys, and its value", parse_write },
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
		if (strcmp(keys[i].name, key))
			continue;
		if (keys[i].parse(config, value))
			return failed(-EINVAL, "%s:%u: '%s' for %s: must be %s", name, number,
				      value, key, keys[i].values);
		return 0;
	}
	return failed(-EINVAL, "%s:%u: unknown key '%s'", name, number, key);
}

int config_parse(struct config *config, const char *name, const char *text, size_t length)
{
	autotext struct text lines = { 0 };
	unsigned int number = 0;
	char *rest, *line;
	int ret = 0;

	*config = (struct config){ .procs = true, .irqs = true, .timers = -1 };
	if (memchr(text, '\0', length))
		return failed(-EINVAL, "%s: there is a zero byte in it", name);
	text_add_bytes(&lines, text, length);
	for (rest = lines.s; !ret && (line = strsep(&rest, "\n")); )
		ret = parse_line(config, name, ++number, line);
	return ret;
}

void config_free(struct config *config)
{
	values_free(&config->values);
}

int config_load(struct config *config, const char *path)
{
	autotext struct text text = { 0 };
	int ret = file_read(path, &text);

	if (ret)
		failed(ret, "%s: %s", path, strerror(-ret));
	else
		ret = config_parse(config, path, text.s, text.length);
	return ret;
}
