/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How "shield" and "unshield" say what they did. */
#ifndef TIMERSHIELD_SUMMARY_H
#define TIMERSHIELD_SUMMARY_H

#include "shield.h"
#include "unmoved.h"

/* What is shielded now and what could not be moved; or the list of a dry run. 0 or -errno. */
int summary_print(const struct shield *shield);

/* An array, and a table with this before each line. */
void unmoved_json(const char *key, const struct unmoved_list *list);
void unmoved_print(const struct unmoved_list *list, const char *indent);

/* "CPUs 2-3 are shielded from tasks and interrupts"; the caller frees it. */
char *summary_sentence(const struct cpus *procs, const struct cpus *irqs);

#endif
