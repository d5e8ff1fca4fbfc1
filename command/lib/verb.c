// SPDX-License-Identifier: GPL-2.0-or-later
/* What all verbs share. */
#include "verb.h"
#include "file.h"
#include "message.h"
#include "output.h"

#include <stdio.h>

void verb_print_help(const struct verb *verb)
{
	printf("usage: timershield %s%s%s\n\n%s.\n", verb->name, *verb->arguments ? " " : "",
	       verb->arguments, verb->summary);
	if (*verb->help)
		printf("\n%s", verb->help);
}

int verb_option(const struct verb *verb, int option)
{
	switch (option) {
	case OPTION_JSON:
		output = OUTPUT_JSON;
		return -1;
	case OPTION_ROOT:
		file_set_root(optarg);
		return -1;
	case 'h':
		verb_print_help(verb);
		return STATUS_OK;
	default:
		fprintf(stderr, "'timershield help %s' tells how to use it.\n", verb->name);
		return STATUS_USAGE;
	}
}

int verb_common_options(const struct verb *verb, int argc, char **argv)
{
	static const struct option options[] = { COMMON_OPTIONS, { 0 } };
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		int status = verb_option(verb, option);

		if (status >= 0)
			return status;
	}
	return -1;
}
