// SPDX-License-Identifier: GPL-2.0-or-later
#include "message.h"
#include "cpus.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static void print(const char *prefix, const char *format, va_list args)
{
	fprintf(stderr, "timershield: %s", prefix);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

int failed(int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print("", format, args);
	va_end(args);
	return error;
}

void notice(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print("note: ", format, args);
	va_end(args);
}

int usage_error(const char *verb, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print("", format, args);
	va_end(args);
	if (*verb)
		fprintf(stderr, "'timershield help %s' tells how to use it.\n", verb);
	else
		fputs("'timershield help' tells how to use it.\n", stderr);
	return STATUS_USAGE;
}

int usage_cpus(const char *verb, const char *list, int error)
{
	if (error == -ERANGE)
		return usage_error(verb, "'%s': Linux has CPUs 0-%u at most", list, CPUS_MAX - 1);
	return usage_error(verb, "'%s' is no list of CPUs, such as 2-3,6", list);
}

enum exit_status status_of(int error)
{
	switch (error) {
	case 0:
		return STATUS_OK;
	case -EPERM:
	case -EACCES:
		return STATUS_NOT_PERMITTED;
	case -EOPNOTSUPP:
		return STATUS_NOT_SUPPORTED;
	case -EBADMSG:
		return STATUS_DAMAGED;
	default:
		return STATUS_FAILED;
	}
}
