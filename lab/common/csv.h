/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Result files in the working directory. */
#ifndef LAB_CSV_H
#define LAB_CSV_H

#include <stdio.h>

/* Open @name to be written, with @head as first line. Where this fails, the program ends with 1. */
FILE *csv_create(const char *name, const char *head);

/* Close it. Unless all of it could be written, the program ends with 1. */
void csv_finish(FILE *file, const char *name);

#endif
