/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests: a program of functions; the first check that fails ends it. */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define check(condition, ...)						\
	do {								\
		if (!(condition)) {					\
			fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
			fprintf(stderr, __VA_ARGS__);			\
			fputc('\n', stderr);				\
			exit(EXIT_FAILURE);				\
		}							\
	} while (0)

#endif
