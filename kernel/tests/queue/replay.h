/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bytes as operations on a queue. Any bytes will do, so that the same code
 * serves random tests, the fuzzer and its corpus.
 */
#ifndef REPLAY_H
#define REPLAY_H

#include <linux/types.h>

/*
 * The first bytes say how many timers there are and how expiries and levels
 * are spread, each REPLAY_OPERATION bytes after them are an operation.
 */
#define REPLAY_HEADER		3
#define REPLAY_OPERATION	4

/* Values of the header's first byte, modulo REPLAY_SIZES */
#define REPLAY_SIZES		6

/* Do what @data says, compare with the model after each operation, abort() on
 * a difference.
 */
void replay(const u8 *data, size_t size);

#endif /* REPLAY_H */
