/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A report on standard output. */
#ifndef TIMERSHIELD_BLAME_PRINT_H
#define TIMERSHIELD_BLAME_PRINT_H

#include "report.h"

/* At most LINES lines, as far as that is possible; 0: as many as there are. */
void report_print(const struct report *report, unsigned int lines);
void report_print_csv(const struct report *report);
void report_print_openmetrics(const struct report *report);

/* Into a JSON object that is open. */
void report_print_json(const struct report *report);

/* How the head of the rows begins. */
#define CULPRITS_HEAD "      times "

/* Rows of one victim, such as the worst wake-ups of measure. */
void culprits_print(const struct victim_report *loser, unsigned int lines);

#endif
