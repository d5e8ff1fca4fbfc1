// SPDX-License-Identifier: GPL-2.0-or-later
#include "cpus.h"

#include <ctype.h>
#include <strings.h>

#define WORDS (CPUS_MAX / CPUS_BITS_PER_LONG)
#define BLANKS " \t\n\v\f\r"
#define HEX_DIGITS "0123456789abcdefABCDEF"

static bool is_blank(const char *text)
{
	return !text[strspn(text, BLANKS)];
}

static bool skip(const char **at, char c)
{
	const bool found = **at == c;

	*at += found;
	return found;
}

/* One that is too large for any machine is CPUS_MAX. */
static bool parse_number(const char **at, unsigned int *number)
{
	const bool found = isdigit((unsigned char)**at);
	char *end;
	unsigned long value = strtoul(*at, &end, 10);

	*number = value < CPUS_MAX ? (unsigned int)value : CPUS_MAX;
	if (found)
		*at = end;
	return found;
}

/* What the kernel's command line may have as well: N, the last CPU, where LAST is not NULL. */
static bool parse_cpu(const char **at, const unsigned int *last, unsigned int *number)
{
	if (!last || !skip(at, 'N'))
		return parse_number(at, number);
	*number = *last;
	return true;
}

static bool parse_range(const char **at, const unsigned int *n, struct cpus *set, bool *too_high)
{
	unsigned int first = 0, last, used = 1, group = 1;

	if (n && !strncasecmp(*at, "all", 3)) {
		*at += 3;
		last = *n;
	} else {
		if (!parse_cpu(at, n, &first))
			return false;
		last = first;
		if (skip(at, '-') && !parse_cpu(at, n, &last))
			return false;
	}
	/* ":2/4": the first two of each four. */
	if (n && skip(at, ':') && !(parse_number(at, &used) && skip(at, '/') &&
				    parse_number(at, &group) && group && used <= group))
		return false;
	if (last >= CPUS_MAX || (n && last > *n)) {
		*too_high = true;
		return true;
	}
	for (unsigned int cpu = first; cpu <= last; cpu++)
		if ((cpu - first) % group < used)
			cpus_add(set, cpu);
	return first <= last;
}

static int parse_list(struct cpus *set, const char *text, const unsigned int *n)
{
	struct cpus parsed = { 0 };
	bool too_high = false;

	do {
		if (!parse_range(&text, n, &parsed, &too_high))
			return -EINVAL;
	} while (skip(&text, ','));
	if (!is_blank(text))
		return -EINVAL;
	if (too_high)
		return -ERANGE;
	*set = parsed;
	return 0;
}

/*
 * From the lowest digit up. Every group but the highest has eight digits; a text without commas may
 * have any number.
 */
int cpus_parse_mask(struct cpus *set, const char *text)
{
	const size_t length = strspn(text, HEX_DIGITS ",");
	const bool grouped = memchr(text, ',', length);
	struct cpus parsed = { 0 };
	unsigned int cpu = 0;
	bool too_high = false;

	if (!length || *text == ',' || !is_blank(text + length))
		return -EINVAL;
	for (size_t i = 0; i < length; i++) {
		const int c = tolower((unsigned char)text[length - 1 - i]);
		const int digit = isdigit(c) ? c - '0' : c - 'a' + 10;

		if ((c == ',') != (grouped && i % 9 == 8))
			return -EINVAL;
		for (int bit = 0; c != ',' && bit < 4; bit++, cpu++) {
			if (digit >> bit & 1 && cpu >= CPUS_MAX)
				too_high = true;
			else if (digit >> bit & 1)
				cpus_add(&parsed, cpu);
		}
	}
	if (too_high)
		return -ERANGE;
	*set = parsed;
	return 0;
}

int cpus_parse(struct cpus *set, const char *text)
{
	text += strspn(text, BLANKS);
	if (!strncasecmp(text, "0x", 2))
		return cpus_parse_mask(set, text + 2);
	if (*text && (strncmp(text, "none", 4) || !is_blank(text + 4)))
		return parse_list(set, text, NULL);
	*set = (struct cpus){ 0 };
	return 0;
}

int cpus_parse_boot(struct cpus *set, const char *text, unsigned int last)
{
	return parse_list(set, text, &last);
}

char *cpus_list(const struct cpus *set)
{
	struct text list = { .s = copy("") };

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

char *cpus_are(const struct cpus *set)
{
	autofree char *named = cpus_named(set);

	return format("%s %s", named, cpus_count(set) > 1 ? "are" : "is");
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
