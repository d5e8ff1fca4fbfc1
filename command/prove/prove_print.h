/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What prove found, for people and for programs. */
#ifndef TIMERSHIELD_PROVE_PRINT_H
#define TIMERSHIELD_PROVE_PRINT_H

#include "trial.h"

/* Standard output: a table and sentences, or JSON. */
void prove_print(const struct prove *prove);
void prove_print_json(const struct prove *prove);

/* The load for which a shield does most. */
size_t prove_best(const struct prove *prove);

/* Sentences that the report has, too; the caller frees them. */
char *prove_headline(const struct prove *prove);	/* about that load */
char *prove_summary(const struct prove *prove);		/* the verdict as a whole */
char *prove_method(const struct prove *prove);		/* what was measured, and how */
char *prove_meanwhile(const struct prove *prove);	/* not caused by any task */
char *prove_advice(const struct prove *prove);		/* without a shield: how to get it; or "" */

/*
 * The table's cells, "off -> on", separated by tabs: the names of the columns, and a trial. Not the
 * WHOLE table fits 80 columns.
 */
const char *prove_head(const struct prove *prove, bool whole);
char *prove_row(const struct prove *prove, size_t trial, bool whole);

/* Opens the file, whose content stays until page_write(). NULL after a message, with errno. */
FILE *page_open(const char *path);

/*
 * Writes one HTML page that needs nothing else: the verdict, the table, a figure for each load,
 * the machine. COMMAND: the command line. Closes FILE. 0, or -errno after a message.
 */
int page_write(FILE *file, const struct prove *prove, const char *command);

#endif
