// SPDX-License-Identifier: GPL-2.0-or-later
#include "cpus.h"

#include <ctype.h>
#include <strings.h>

#define WORDS (CPUS_MAX / CPUS_BITS_PER_LONG)
#define GROUP_DIGITS 8u

static void trim(const char **text, size_t *length)
{
	while (*length && isspace((unsigned char)(*text)[*length - 1]))
		(*length)--;
	while (*length && isspace((unsigned char)**text)) {
		(*text)++;
		(*length)--;
	}
}

/* Numbers too large for any machine are read to their end all the same. */
static int parse_number(const char **at, const char *end, unsigned int *number)
{
	unsigned int value = 0;

	if (*at == end || !isdigit((unsigned char)**at))
		return -EINVAL;
	for (; *at < end && isdigit((unsigned char)**at); (*at)++)
		if (value < CPUS_MAX)
			value = value * 10 + (unsigned int)(**at - '0');
	*number = value;
	return 0;
}

/* What the kernel's command line may have as well: N, the last CPU, where LAST is not NULL. */
static int parse_cpu(const char **at, const char *end, const unsigned int *last,
		     unsigned int *number)
{
	if (!last || *at == end || **at != 'N')
		return parse_number(at, end, number);
	(*at)++;
	*number = *last;
	return 0;
}

/* ":2/4": the first two of each four. */
static int parse_groups_of(const char **at, const char *end, unsigned int *used,
			   unsigned int *group)
{
	int ret;

	(*at)++;
	ret = parse_number(at, end, used);
	if (ret || *at == end || *(*at)++ != '/')
		return -EINVAL;
	ret = parse_number(at, end, group);
	return ret || !*group || *used > *group ? -EINVAL : 0;
}

static int parse_range(const char **at, const char *end, struct cpus *set,
		       const unsigned int *n, bool *too_high)
{
	unsigned int first = 0, last, used = 1, group = 1;
	const bool all = n && end - *at >= 3 && !strncasecmp(*at, "all", 3);
	int ret = 0;

	if (all) {
		*at += 3;
		last = *n;
	} else {
		ret = parse_cpu(at, end, n, &first);
		last = first;
	}
	if (!ret && !all && *at < end && **at == '-') {
		(*at)++;
		ret = parse_cpu(at, end, n, &last);
	}
	if (!ret && n && *at < end && **at == ':')
		ret = parse_groups_of(at, end, &used, &group);
	if (ret)
		return ret;
	if (last >= CPUS_MAX || (n && last > *n)) {
		*too_high = true;
		return 0;
	}
	if (last < first)
		return -EINVAL;
	for (unsigned int cpu = first; cpu <= last; cpu++)
		if ((cpu - first) % group < used)
			cpus_add(set, cpu);
	return 0;
}

static int parse_list(struct cpus *set, const char *at, const char *end, const unsigned int *n)
{
	bool too_high = false;

	for (;;) {
		int ret = parse_range(&at, end, set, n, &too_high);

		if (ret)
			return ret;
		if (at == end)
			return too_high ? -ERANGE : 0;
		if (*at++ != ',')
			return -EINVAL;
	}
}

/*
 * From the lowest digit up. Every group but the highest has eight digits; a text
 * without commas may have any number.
 */
static int parse_groups(struct cpus *set, const char *text, size_t length)
{
	bool grouped = memchr(text, ',', length), too_high = false;
	unsigned int digits = 0, in_group = 0;

	for (const char *at = text + length; at > text; ) {
		int digit = tolower((unsigned char)*--at);
		unsigned long value = isdigit(digit) ? digit - '0' : digit - 'a' + 10;

		if (digit == ',') {
			if (in_group != GROUP_DIGITS || at == text)
				return -EINVAL;
			in_group = 0;
			continue;
		}
		if (!isxdigit(digit) || (grouped && in_group == GROUP_DIGITS))
			return -EINVAL;
		if (digits < CPUS_MAX / 4)
			set->bits[digits * 4 / CPUS_BITS_PER_LONG] |=
				value << (digits * 4 % CPUS_BITS_PER_LONG);
		else if (value)
			too_high = true;
		digits++;
		in_group++;
	}
	if (!in_group)
		return -EINVAL;
	return too_high ? -ERANGE : 0;
}

int cpus_parse_mask(struct cpus *set, const char *text, size_t length)
{
	struct cpus parsed = { 0 };
	int ret;

	trim(&text, &length);
	ret = parse_groups(&parsed, text, length);
	if (!ret)
		*set = parsed;
	return ret;
}

int cpus_parse(struct cpus *set, const char *text, size_t length)
{
	struct cpus parsed = { 0 };
	int ret = 0;

	trim(&text, &length);
	if (length >= 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		ret = parse_groups(&parsed, text + 2, length - 2);
	else if (length && !(length == 4 && !memcmp(text, "none", 4)))
		ret = parse_list(&parsed, text, text + length, NULL);
	if (!ret)
		*set = parsed;
	return ret;
}

int cpus_parse_boot(struct cpus *set, const char *text, unsigned int last)
{
	struct cpus parsed = { 0 };
	int ret = parse_list(&parsed, text, text + strlen(text), &last);

	if (!ret)
		*set = parsed;
	return ret;
}

char *cpus_list(const struct cpus *set)
{
	struct text list = { 0 };

	text_add(&list, "%s", "");
	for (unsigned int first = cpus_next(set, 0); first < CPUS_MAX; ) {
		unsigned int last = first;

		while (last + 1 < CPUS_MAX && cpus_has(set, last + 1))
			last++;
		text_add(&list, "%s%u", list.length ? "," : "", first);
		if (last > first)
			text_add(&list, "-%u", last);
		first = cpus_next(set, last + 1);
	}
	return list.s;
}

char *cpus_named(const struct cpus *set)
{
	autofree char *list = cpus_list(set);

	return format("CPU%s %s", cpus_count(set) == 1 ? "" : "s", list);
}

char *cpus_pattern(const struct cpus *set, const struct cpus *all)
{
	struct text text = { 0 };
	bool many = cpus_count(set) > 1;

	if (many && cpus_equal(set, all))
		return copy("[0-9]*");
	text_add(&text, "%s", many ? "{" : "");
	cpus_for_each(cpu, set)
		text_add(&text, "%s%u", cpu == cpus_next(set, 0) ? "" : ",", cpu);
	text_add(&text, "%s", many ? "}" : "");
	return text.s;
}

char *cpus_mask(const struct cpus *set)
{
	unsigned int group = CPUS_MAX / 32;
	struct text mask = { 0 };

	while (group--) {
		unsigned int at = group * 32;
		unsigned int value = set->bits[at / CPUS_BITS_PER_LONG] >>
				     (at % CPUS_BITS_PER_LONG);

		if (mask.length)
			text_add(&mask, ",%08x", value);
		else if (value || !group)
			text_add(&mask, "%x", value);
	}
	return mask.s;
}

bool cpus_has(const struct cpus *set, unsigned int cpu)
{
	return cpu < CPUS_MAX &&
	       set->bits[cpu / CPUS_BITS_PER_LONG] >> (cpu % CPUS_BITS_PER_LONG) & 1;
}

void cpus_add(struct cpus *set, unsigned int cpu)
{
	set->bits[cpu / CPUS_BITS_PER_LONG] |= 1ul << (cpu % CPUS_BITS_PER_LONG);
}

unsigned int cpus_next(const struct cpus *set, unsigned int cpu)
{
	while (cpu < CPUS_MAX && !cpus_has(set, cpu))
		cpu = set->bits[cpu / CPUS_BITS_PER_LONG] ? cpu + 1 :
			(unsigned int)((cpu / CPUS_BITS_PER_LONG + 1) * CPUS_BITS_PER_LONG);
	return cpu < CPUS_MAX ? cpu : CPUS_MAX;
}

unsigned int cpus_count(const struct cpus *set)
{
	unsigned int count = 0;

	for (size_t i = 0; i < WORDS; i++)
		count += (unsigned int)__builtin_popcountl(set->bits[i]);
	return count;
}

bool cpus_empty(const struct cpus *set)
{
	return cpus_next(set, 0) == CPUS_MAX;
}

bool cpus_equal(const struct cpus *a, const struct cpus *b)
{
	return !memcmp(a, b, sizeof(*a));
}

bool cpus_intersect(const struct cpus *a, const struct cpus *b)
{
	struct cpus both = cpus_and(a, b);

	return !cpus_empty(&both);
}

bool cpus_subset(const struct cpus *a, const struct cpus *b)
{
	struct cpus outside = cpus_and_not(a, b);

	return cpus_empty(&outside);
}

struct cpus cpus_and(const struct cpus *a, const struct cpus *b)
{
	struct cpus result;

	for (size_t i = 0; i < WORDS; i++)
		result.bits[i] = a->bits[i] & b->bits[i];
	return result;
}

struct cpus cpus_or(const struct cpus *a, const struct cpus *b)
{
	struct cpus result;

	for (size_t i = 0; i < WORDS; i++)
		result.bits[i] = a->bits[i] | b->bits[i];
	return result;
}

struct cpus cpus_and_not(const struct cpus *a, const struct cpus *b)
{
	struct cpus result;

	for (size_t i = 0; i < WORDS; i++)
		result.bits[i] = a->bits[i] & ~b->bits[i];
	return result;
}
