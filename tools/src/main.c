// SPDX-License-Identifier: GPL-2.0-or-later
/* timershield - shields CPUs and timers for exact timing: timershield(8) */
#include "file.h"
#include "message.h"
#include "output.h"
#include "verb.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct verb * const verbs[] = {
	&verb_status,
	&verb_shield,
	&verb_unshield,
	&verb_run,
	&verb_timers,
	&verb_help,
	&verb_version,
	NULL,
};

const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; verbs[i]; i++)
		if (!strcmp(verbs[i]->name, name))
			return verbs[i];
	return NULL;
}

int verb_option(const struct verb *verb, int option)
{
	switch (option) {
	case OPTION_JSON:
		output = OUTPUT_JSON;
		return -1;
	case OPTION_PORCELAIN:
		output = OUTPUT_PORCELAIN;
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

/* A full disk, or a reader that has gone, must not look like success. */
static int close_output(int status)
{
	if (fflush(stdout) || ferror(stdout)) {
		failed(-errno, "standard output: %s", strerror(errno));
		return status ? status : STATUS_FAILED;
	}
	return status;
}

int main(int argc, char **argv)
{
	const struct verb *verb = &verb_status;
	char own_name[] = "timershield";

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		verb = &verb_help;
		argc = 1;
	} else if (argc > 1 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))) {
		verb = &verb_version;
		argc = 1;
	} else if (argc > 1 && argv[1][0] != '-') {
		verb = verb_find(argv[1]);
		if (!verb)
			return usage_error("", "there is no '%s'", argv[1]);
		argc--;
		argv++;
	}
	argv[0] = own_name;
	return close_output(verb->run(argc, argv));
}
