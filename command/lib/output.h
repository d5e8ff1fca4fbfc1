/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results, on standard output: sentences and aligned tables for people, or JSON (--json). */
#ifndef TIMERSHIELD_OUTPUT_H
#define TIMERSHIELD_OUTPUT_H

#include "cpus.h"

enum output { OUTPUT_PRETTY, OUTPUT_JSON };

extern enum output output;
extern bool output_one_line;		/* JSON without line breaks, for a file of such lines */

/* Whether standard output is a terminal that may show colours (not with NO_COLOR). */
bool output_has_colour(void);
bool output_is_terminal(void);
/* TEXT and a line break, broken where the terminal ends, from column INDENT on; it is there already. */
void output_wrapped(const char *text, unsigned int indent);

/* JSON. KEY is NULL in an array and at the top. */
void json_open(const char *key, char bracket);
void json_close(char bracket);
void json_string(const char *key, const char *value);	/* NULL: null */
void json_number(const char *key, unsigned long long value);
/* null if it is not KNOWN */
void json_number_if(const char *key, bool known, unsigned long long value);
void json_bool(const char *key, bool value);
void json_cpus(const char *key, const struct cpus *cpus);

/* Lines of cells. Columns are as wide as they must be, the last one as it is. */
struct table {
	unsigned int columns;
	char **cells;
	unsigned int count;
};

/* Adds a row, its cells separated by tabs. */
void table_add(struct table *table, const char *format, ...) __printf(2, 3);
/* Prints the table, and empties it. */
void table_print(struct table *table, const char *indent);

#endif
