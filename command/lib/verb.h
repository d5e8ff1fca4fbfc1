/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verbs. To add one: a folder NAME with verb_NAME.c, which defines "verb_NAME", and a line in
 * the table in main.c.
 *
 * An option stands in its verb's table alone. getopt, --help, the completion of bash and the
 * manual page's lists come from there.
 */
#ifndef TIMERSHIELD_VERB_H
#define TIMERSHIELD_VERB_H

#include "cpus.h"

#include <getopt.h>
#include <sys/types.h>

struct verb;

struct verb_option {
	const char *name;		/* the long one, without hyphens */
	int letter;			/* 0: none */
	const char *argument;		/* NULL: none; "[FILE]" may be left out */
	const char *help;		/* a phrase; NULL: for tests, in no list */
	/* words that the argument may be, or one of <cpus>, <pids>, <files> */
	const char *words;

	/* Where it goes: one of these is set. */
	bool *flag;
	const char **text;
	int *number, least, most;
	double *decimal;		/* above 0, at most 10^9 */
	struct cpus *cpus;		/* not empty */
	/* Its argument is in optarg. Returns -1 to go on, or the exit status to end with. */
	int (*take)(const struct verb *verb);
};

struct verb {
	const char *name;
	const char *arguments;		/* what follows the name, for the usage line */
	const char *summary;		/* an infinitive, "keep interrupts off CPUs" */
	const char *about;		/* the rest of the verb's help; may be "" */
	const struct verb_option *options;	/* ended by { 0 }; NULL: none of its own */
	const char *words;		/* completion of its arguments; also <command>, <verbs> */
	int usage_status;		/* exit status of wrong arguments; 0: STATUS_USAGE */
	/* The options have been taken: argv[optind] is the first argument. Returns the exit status. */
	int (*run)(int argc, char **argv);
};

extern const struct verb verb_status, verb_isolate, verb_unisolate, verb_run, verb_timers,
	verb_blame, verb_prove;

/*
 * Takes the options; afterwards optind is the first argument. Returns -1 to go on, or the exit
 * status to end with. Where words end with <command> the first argument ends the options; a verb
 * without words takes no argument.
 */
int verb_parse(const struct verb *verb, int argc, char **argv);

/* Prints a message and where help is; returns the exit status. VERB may be NULL. */
int usage_error(const struct verb *verb, const char *format, ...) __printf(2, 3);

/* A list of CPUs that is not empty. -1, or the exit status after a message. */
int take_cpus(const struct verb *verb, const char *list, struct cpus *cpus);

/* On standard output: the verb's help, its lines for completion, help and options as man(7) has them. */
void verb_print_help(const struct verb *verb);
void verb_print_words(const struct verb *verb);
void verb_print_roff(const struct verb *verb);

#endif
