/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What every file of the command needs: the C library's basic headers, and strings that grow.
 * Memory that cannot be had ends the program with status 1: what was changed until then is in the
 * journal.
 */
#ifndef TIMERSHIELD_TEXT_H
#define TIMERSHIELD_TEXT_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#define __printf(string, first) __attribute__((format(printf, string, first)))

/* Starts as { 0 }, or with s = copy(""). s is always ended by a 0 that length does not count. */
struct text {
	char *s;
	size_t length;
	size_t size;
};

void text_add(struct text *text, const char *format, ...) __printf(2, 3);
void text_add_list(struct text *text, const char *format, va_list args) __printf(2, 0);
void text_add_bytes(struct text *text, const char *bytes, size_t length);
void text_free(struct text *text);
void free_string(char **string);

/* A variable so declared is freed at the end of its block: a string, or a struct text. */
#define autofree __attribute__((cleanup(free_string)))
#define autotext __attribute__((cleanup(text_free)))

/* What follows KEY in a text, to the line's end; NULL if it is not there. The caller frees it. */
char *text_after(const char *text, const char *key);

/* Removes newlines at the end. */
void text_chomp(struct text *text);

/*
 * The length of the well-formed UTF-8 sequence at S, a string, and its character in *C; 0 if it
 * is not well-formed.
 */
unsigned int utf8_length(const unsigned char *s, unsigned int *c);

/* Replaces each MARK and its digits, which "%2x%n" or the like reads, by a character. */
void unescape(char *text, char mark, const char *digits);

/* Replaces what would break a line or a terminal, or is not UTF-8. */
void make_printable(char *text);

/* Whether WORD is one of WORDS, which spaces separate. */
bool has_word(const char *words, const char *word);

/* reallocarray(), calloc(), strdup() and asprintf() that do not fail. */
void *grow(void *memory, size_t count, size_t size);
void *zeroed(size_t count, size_t size);
char *copy(const char *string);
char *format(const char *format, ...) __printf(1, 2);

/* A new last element of an array, which has room up to the next power of two. */
#define append(array, count)							\
	((array) = (count) & ((count) - 1) ? (array) :				\
		   grow(array, (count) ? 2 * (count) : 1, sizeof(*(array))),	\
	 &(array)[(count)++])

#endif
