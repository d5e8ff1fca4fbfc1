/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small files below /proc and /sys. */
#ifndef LAB_FILE_H
#define LAB_FILE_H

#include <stddef.h>

/* Writes TEXT in one write(); 0 or -errno. */
int file_write(const char *path, const char *text);

/* Reads at most SIZE - 1 bytes and ends them with a 0; the length or -errno. */
int file_read(const char *path, char *text, size_t size);

#endif
