/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verbs. To add one: a folder NAME with verb_NAME.c, which defines "verb_NAME", and a line in the
 * table in main.c.
 */
#ifndef TIMERSHIELD_VERB_H
#define TIMERSHIELD_VERB_H

#include <getopt.h>

struct verb {
	const char *name;
	const char *arguments;		/* what follows the name, for the usage line */
	const char *summary;
	const char *help;		/* the rest of the verb's help */
	/* argv[0] is the name; returns the exit status */
	int (*run)(int argc, char **argv);
};

extern const struct verb verb_status, verb_isolate, verb_unisolate, verb_run, verb_timers,
	verb_blame, verb_measure;

/* Prints a verb's help on standard output. */
void verb_print_help(const struct verb *verb);

/* Options that every verb has; values beyond those of characters. */
enum { OPTION_JSON = 256, OPTION_ROOT, OPTION_OWN };

#define COMMON_OPTIONS							\
	{ "json", no_argument, NULL, OPTION_JSON },			\
	{ "root", required_argument, NULL, OPTION_ROOT },		\
	{ "help", no_argument, NULL, 'h' }

/*
 * Handles what getopt_long() returned if it is a common option or an error. Returns -1
 * to go on, or the exit status to end with.
 */
int verb_option(const struct verb *verb, int option);

/* The same of all options of a verb that has no others. */
int verb_common_options(const struct verb *verb, int argc, char **argv);

#endif
