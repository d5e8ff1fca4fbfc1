/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of the system. Paths are those of a running machine; with --root they are
 * looked for below another directory.
 */
#ifndef TIMERSHIELD_FILE_H
#define TIMERSHIELD_FILE_H

#include "cpus.h"

#include <sys/types.h>

/* "" unless --root was given. Whoever calls the system directly has to add it. */
void file_set_root(const char *directory);
const char *file_root(void);

/* PATH below the root; the caller frees it. */
char *file_path(const char *path);

bool file_exists(const char *path);

/*
 * Reads the whole file, of 64 MiB at most, which TEXT then holds alone. Returns 0
 * or -errno; TEXT has a string in either case.
 */
int file_read(const char *path, struct text *text);

/* The same without newlines at the end. */
int file_read_line(const char *path, struct text *text);

/* Whether the file can be read and has WANTED in it. */
bool file_has(const char *path, const char *wanted);

/* What follows KEY in the file, to the line's end; NULL if it is not there. The caller frees it. */
char *file_find(const char *path, const char *key);

/* A decimal number. 0, -EINVAL or -errno. */
int file_read_number(const char *path, long long *number);

/* A list of CPUs. 0, -EINVAL, -ERANGE or -errno, and *CPUS is unchanged then. */
int file_read_cpus(const char *path, struct cpus *cpus);

/* Writes VALUE and a newline in one write(), as files of the kernel want it. 0 or -errno. */
int file_write(const char *path, const char *value);

/*
 * Puts a file with this content in PATH's place: whoever reads PATH, even if this process
 * is killed, finds the old content or the new one. 0 or -errno.
 */
int file_replace(const char *path, const char *content, size_t length);

/* The names of a directory's entries but . and .., in no order. */
struct names {
	char **items;
	size_t count;
};

/* Starts with { 0 }, and is freed at the end of its block. 0 or -errno. */
int file_names(const char *directory, struct names *names);

/* The same with the paths that are there for a pattern, as the shell has them, braces included. */
void file_glob(const char *pattern, struct names *paths);
void names_free(struct names *names);

#define autonames __attribute__((cleanup(names_free)))

#endif
