/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How "isolate" and "unisolate" say what they did. */
#ifndef TIMERSHIELD_ISOLATE_PRINT_H
#define TIMERSHIELD_ISOLATE_PRINT_H

#include "isolation.h"
#include "leftovers.h"

/* What is isolated now and what could not be moved; or the list of a dry run. 0 or -errno. */
int isolate_print(const struct isolation *isolation);

/* An array of all; a table with INDENT before each line, the like of one CPU each in one. */
void leftovers_json(const char *key, const struct leftovers *list);
void leftovers_print_grouped(const struct leftovers *list, const char *indent);

/* "CPUs 2-3 are isolated from tasks and interrupts"; the caller frees it. */
char *isolate_sentence(const struct cpus *procs, const struct cpus *irqs);

#endif
