/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TIMERSHIELD_PAGE_H
#define TIMERSHIELD_PAGE_H

#include "trial.h"

#include <stdbool.h>
#include <stdio.h>

/* Opens the file, whose content stays until page_write(). NULL after a message, with errno. */
FILE *page_open(const char *path);

/*
 * Writes one HTML page that needs nothing else: the verdict, the table, a figure for each load,
 * the machine. COMMAND: the command line. Closes FILE. 0, or -errno after a message.
 */
int page_write(FILE *file, const struct prove *prove, const char *command, bool with_command_line);

#endif
