// SPDX-License-Identifier: GPL-2.0-or-later
#include "message.h"

static void print(const char *prefix, const char *format, va_list args)
{
	fprintf(stderr, "timershield: %s", prefix);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

void failed_list(const char *format, va_list args)
{
	print("", format, args);
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
