// SPDX-License-Identifier: GPL-2.0-or-later
#include "check.h"
#include "isolate/config.h"
#include "lib/text.h"

#include <errno.h>
#include <string.h>

static int parse(struct config *config, const char *text)
{
	return config_parse(config, "test", text, strlen(text));
}

static void accepted(void)
{
	struct config config;

	check(!parse(&config, "") && cpus_empty(&config.cpus) && config.procs && config.irqs,
	      "empty");
	check(!parse(&config, "# nothing\n\n  cpus = 2-3,6 # these\r\nirqs=no\n"
		     "timers = on"), "all keys");
	check(cpus_count(&config.cpus) == 3 && config.procs && !config.irqs &&
	      config.timers == CONFIG_ON, "values");
}

static void priorities(void)
{
	const struct priority *items;
	autotext struct text many = { 0 };
	struct config config;

	check(!parse(&config, "priority = 80 irq/*-eth0*\npriority=1\tksoftirqd/[01] # low"),
	      "two priorities");
	items = config.priorities.items;
	check(config.priorities.count == 2 && items[0].priority == 80 &&
	      !strcmp(items[0].pattern, "irq/*-eth0*") && items[1].priority == 1 &&
	      !strcmp(items[1].pattern, "ksoftirqd/[01]"), "their values");
	for (unsigned int i = 0; i <= PRIORITIES_MAX; i++) {
		check(!parse(&config, many.s ? many.s : ""), "%u lines", i);
		text_add(&many, "priority = 2 x\n");
	}
	check(parse(&config, many.s) == -EINVAL, "too many lines");
}

static void refused(void)
{
	static const char * const texts[] = {
		"cpus", "cpus = ", "cpus = 1-\n", "cpu = 1", "irqs = maybe", "irqs = ",
		"timers = yes", "= 1", "cpus 1",
		"priority = 80", "priority = 0 x", "priority = 99 x", "priority = x 80",
		"priority = 80x", "priority = ", "priority = -1 x",
	};
	struct config config;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		check(i == 1 || parse(&config, texts[i]) == -EINVAL, "'%s'", texts[i]);
	check(config_parse(&config, "test", "cpus = 1\0", 9) == -EINVAL, "a zero byte");
}

int main(void)
{
	accepted();
	priorities();
	refused();
	return 0;
}
