/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the command says about its own work, on standard error; and its exit statuses. */
#ifndef TIMERSHIELD_MESSAGE_H
#define TIMERSHIELD_MESSAGE_H

#include "text.h"

enum exit_status {
	STATUS_OK = 0,
	STATUS_FAILED = 1,
	STATUS_USAGE = 2,
	STATUS_NOT_PERMITTED = 3,
	STATUS_NOT_SUPPORTED = 4,
	STATUS_DAMAGED = 5,
	STATUS_RUN_FAILED = 125,
	STATUS_CANNOT_EXECUTE = 126,
	STATUS_NOT_FOUND = 127,
};

/* Prints "timershield: ..." and returns ERROR, a -errno. */
int failed(int error, const char *format, ...) __printf(2, 3);
void failed_list(const char *format, va_list args) __printf(1, 0);

/* A line that is not an error. */
void notice(const char *format, ...) __printf(1, 2);

/* The exit status that belongs to -errno. */
enum exit_status status_of(int error);

#endif
