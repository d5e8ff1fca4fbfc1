/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Result files in the working directory. */
#ifndef LAB_CSV_H
#define LAB_CSV_H

#include <stdio.h>

/* Open @name to be written; NULL, with errno set, after a message. */
FILE *csv_create(const char *name);

/* Close it; 0, or -EIO after a message if not all of it was written. */
int csv_finish(FILE *file, const char *name);

#endif
