// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>

#define MOST_OPTIONS 24

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

void parse_options(int argc, char **argv, const struct opt *opts, void (*usage)(FILE *))
{
	struct option longs[MOST_OPTIONS + 2] = { { "help", no_argument, NULL, 'h' } };
	char letters[2 * MOST_OPTIONS + 2] = "h";
	char *next = letters + 1;
	int letter;

	for (int i = 0; i < MOST_OPTIONS && opts[i].name; i++) {
		longs[i + 1] = (struct option){ opts[i].name, !opts[i].flag, NULL, opts[i].letter };
		*next++ = opts[i].letter;
		if (!opts[i].flag)
			*next++ = ':';
	}
	while ((letter = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		const struct opt *opt = opts;

		if (letter == 'h') {
			usage(stdout);
			exit(0);
		}
		while (opt->name && opt->letter != letter)
			opt++;
		if (!opt->name) {
			fprintf(stderr, "Try '%s --help'.\n", program_invocation_short_name);
			exit(2);
		}
		set(opt, optarg);
	}
	if (optind < argc) {
		fprintf(stderr, "%s: unexpected argument '%s'\n", program_invocation_short_name, argv[optind]);
		exit(2);
	}
}
