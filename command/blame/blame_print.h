/* SPDX-License-Identifier: GPL-2.0-or-later */
/* On standard output: a report, an episode, and the live view. */
#ifndef TIMERSHIELD_BLAME_PRINT_H
#define TIMERSHIELD_BLAME_PRINT_H

#include "session.h"

/*
 * At most LINES lines, as far as that is possible; 0: as many as there are. NARROW: of the columns
 * of figures two alone, so that culprits keep their names.
 */
void report_print(FILE *file, const struct report *report, unsigned int lines, bool narrow);

/* Into a JSON object that is open. */
void report_print_json(const struct report *report);

void report_print_openmetrics(const struct report *report);

/* How the head of the rows begins. */
#define CULPRITS_HEAD "      times "
#define CULPRITS_HEAD_NARROW "   total us "

/* What a CPU did during an episode. */
void timeline_print(const struct episode *episode, unsigned int cpu);
void timeline_print_json(const struct episode *episode, unsigned int cpu);

/* The view on a terminal, drawn each second. Says that it starts. */
void live_start(void);

/* Draws anew once it is time. 0 or -errno. */
int live_draw(struct session *session);

/* The screen is empty if anything was drawn. */
void live_end(void);

#endif
