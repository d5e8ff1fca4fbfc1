// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every parser of what comes from outside, on texts that make sense, damaged by a seeded generator.
 * The first byte chooses the parser; the argument says how many texts.
 */
#include "check.h"
#include "isolate/config.h"

static void parse_cpus(const char *text)
{
	autofree char *list = NULL;
	struct cpus set, back;

	cpus_parse_mask(&set, text);
	if (cpus_parse(&set, text))
		return;
	list = cpus_list(&set);
	check(!cpus_parse(&back, list) && cpus_equal(&set, &back), "%s", list);
}

static void parse(const struct text *text)
{
	struct config config;

	if (text->length && text->s[0] % 2) {
		config_parse(&config, "fuzz", text->s + 1, text->length - 1);
	} else if (text->length) {
		parse_cpus(text->s + 1);
	}
}

static const char * const seeds[] = {
	"0" "1,3-5,100-8191,0-99999",
	"0" "0x1,00000000,ffffffff",
	"1" "# comment\ncpus = 1-3\nirqs = yes\nprocs = no\ntimers = on\n",
};

static uint32_t state = 20260101;

static uint32_t pick(uint32_t below)
{
	state = state * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)state * below >> 32);
}

/* Overwrites, inserts, repeats or removes bytes. */
static void damage(struct text *text)
{
	static const char bytes[] = "0123456789abcdefx,-\t\n\0 %#=/\377";
	size_t at = pick((uint32_t)text->length), length = 1 + pick(8);
	struct text result = { 0 };
	char byte = bytes[pick(sizeof(bytes))];

	if (at + length > text->length)
		length = text->length - at;
	text_add_bytes(&result, text->s, at);
	switch (pick(4)) {
	case 0:
		text_add_bytes(&result, &byte, 1);
		break;
	case 1:
		text_add_bytes(&result, &byte, 1);
		at++;
		break;
	case 2:
		text_add_bytes(&result, text->s + at, length);
		break;
	default:
		at += length;
		break;
	}
	if (at < text->length)
		text_add_bytes(&result, text->s + at, text->length - at);
	text_free(text);
	*text = result;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;

	/* The messages are not what is tested. */
	check(freopen("/dev/null", "w", stderr), "/dev/null");
	for (unsigned long i = 0; i < rounds; i++) {
		const char *seed = seeds[i % (ARRAY_SIZE(seeds))];
		struct text text = { 0 };

		text_add(&text, "%s", seed);
		for (uint32_t n = pick(6); n && text.length; n--)
			damage(&text);
		parse(&text);
		text_free(&text);
	}
	return 0;
}
