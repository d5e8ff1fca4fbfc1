/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stats.h - statistics: written by one thread, read by any
 *
 * As there is one writer, counting up is a load and a store; no locked instruction.
 */
#ifndef CLOCKFIX_STATS_H
#define CLOCKFIX_STATS_H

#include "clockfix.h"

#define stat_set(stat, val)	__atomic_store_n(stat, val, __ATOMIC_RELAXED)
#define stat_add(stat, n)	stat_set(stat, *(stat) + (n))

/* all but pending */
void stats_copy(const struct clockfix_stats *stats, struct clockfix_stats *to);

#endif
