// SPDX-License-Identifier: GPL-2.0-or-later
#include "irqs.h"
#include "lib/file.h"
#include "lib/message.h"

#include <ctype.h>

#define DIGITS "0123456789"

bool irqs_have(const struct irqs *irqs, unsigned int number)
{
	for (unsigned int i = 0; irqs && i < irqs->count; i++)
		if (irqs->numbers[i] == number)
			return true;
	return false;
}

/* Whether a line has NAME as a word, or as the first part of one such as eth0-rx-1. */
static bool names(const char *line, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = strstr(line, name); at; at = strstr(at + 1, name))
		if ((at[-1] == ' ' || at[-1] == ',') && !isalnum((unsigned char)at[length]))
			return true;
	return false;
}

int irqs_find(const char *name, struct irqs *irqs)
{
	autotext struct text text = { 0 };
	int ret = file_read("/proc/interrupts", &text);
	const bool by_number = !name[strspn(name, DIGITS)];
	unsigned int before = irqs->count;
	char *rest = text.s, *line;

	if (ret)
		return failed(ret, "/proc/interrupts: %s", strerror(-ret));
	while ((line = strsep(&rest, "\n"))) {
		char *end;
		unsigned long number = strtoul(line, &end, 10);

		if (end == line || *end != ':')
			continue;
		*end++ = '\0';
		line += strspn(line, " ");
		end += strspn(end, " " DIGITS);	/* the counters */
		if ((by_number ? !strcmp(line, name) : names(end, name)) &&
		    irqs->count < IRQS_MAX)
			irqs->numbers[irqs->count++] = (unsigned int)number;
	}
	if (irqs->count == before)
		return failed(-ENOENT, "/proc/interrupts has no interrupt '%s'", name);
	return 0;
}
