// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "csv.h"

#include <errno.h>
#include <stdlib.h>

static _Noreturn void end(const char *name)
{
	fprintf(stderr, "%s: %s: %m\n", program_invocation_short_name, name);
	exit(1);
}

FILE *csv_create(const char *name, const char *head)
{
	FILE *file = fopen(name, "we");

	if (!file)
		end(name);
	fprintf(file, "%s\n", head);
	return file;
}

void csv_finish(FILE *file, const char *name)
{
	if (ferror(file) | fclose(file))
		end(name);
}
