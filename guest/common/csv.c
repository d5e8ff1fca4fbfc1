// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "csv.h"

#include <errno.h>

FILE *csv_create(const char *name)
{
	FILE *file = fopen(name, "we");

	if (!file)
		fprintf(stderr, "%s: %s: %m\n", program_invocation_short_name, name);
	return file;
}

int csv_finish(FILE *file, const char *name)
{
	if (ferror(file) | fclose(file)) {
		fprintf(stderr, "%s: %s: %m\n", program_invocation_short_name, name);
		return -EIO;
	}
	return 0;
}
