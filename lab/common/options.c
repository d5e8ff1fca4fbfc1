// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>

#define MOST_OPTIONS 24
#define FIRST 256	/* no letter */

int64_t number(const char *text, int64_t from, int64_t to, const char *option)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 0);
	if (errno || *end || end == text || value < from || value > to) {
		fprintf(stderr, "%s: --%s=%s: not a number from %" PRId64 " to %" PRId64 "\n",
			program_invocation_short_name, option, text, from, to);
		exit(2);
	}
	return value;
}

static void set(const struct opt *opt, char *value)
{
	if (opt->flag)
		*opt->flag = true;
	else if (opt->number)
		*opt->number = number(value, opt->from, opt->upto, opt->name);
	else if (opt->wide)
		*opt->wide = number(value, opt->from, opt->upto, opt->name);
	else
		opt->text(value, opt->to);
}

static _Noreturn void help(const struct opt *opts, const char *about, void (*more)(FILE *out))
{
	printf("Usage: %s [OPTION]...\n%s\n\n", program_invocation_short_name, about);
	for (; opts->name; opts++) {
		int n = printf("  --%s%s%s", opts->name, opts->flag ? "" : "=", opts->value ?: "");

		printf("%*s%s\n", n < 20 ? 22 - n : 2, "", opts->help);
	}
	if (more)
		more(stdout);
	printf("\nExit status: 0 done, 1 failed, 2 wrong usage.\n");
	exit(0);
}

void parse_options(int argc, char **argv, const struct opt *opts, const char *about,
		   void (*more)(FILE *out))
{
	struct option longs[MOST_OPTIONS + 2] = { { "help", no_argument, NULL, 'h' } };
	int found;

	for (int i = 0; i < MOST_OPTIONS && opts[i].name; i++)
		longs[i + 1] = (struct option){ opts[i].name, !opts[i].flag, NULL, FIRST + i };
	while ((found = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (found == 'h')
			help(opts, about, more);
		if (found < FIRST) {
			fprintf(stderr, "Try '%s --help'.\n", program_invocation_short_name);
			exit(2);
		}
		set(&opts[found - FIRST], optarg);
	}
	if (optind < argc) {
		fprintf(stderr, "%s: unexpected argument '%s'\n", program_invocation_short_name, argv[optind]);
		exit(2);
	}
}
