/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of the workloads: their table is what --help prints. */
#ifndef LAB_OPTIONS_H
#define LAB_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* One option; its value goes to the one place that is set. */
struct opt {
	const char *name, *value, *help;	/* --name=value */
	int *number;
	int64_t *wide;
	int64_t from, upto;		/* of number and wide */
	bool *flag;
	void (*text)(char *value, void *to);
	void *to;
};

#define OPT_NUMBER(place, least, most) .number = (place), .from = (least), .upto = (most)
#define OPT_WIDE(place, least, most) .wide = (place), .from = (least), .upto = (most)
#define OPT_FLAG(place) .flag = (place)
#define OPT_TEXT(function, place) .text = (function), .to = (place)

/*
 * Parse a command line by @opts, whose last entry is empty; --help and errors end the program. @about
 * it, @more (or NULL): what --help prints before and behind the options.
 */
void parse_options(int argc, char **argv, const struct opt *opts, const char *about,
		   void (*more)(FILE *out));

/* The value of --OPTION=TEXT; ends the program if it is not a number FROM..TO. */
int64_t number(const char *text, int64_t from, int64_t to, const char *option);

#endif
