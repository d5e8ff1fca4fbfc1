/* SPDX-License-Identifier: GPL-2.0-or-later */
/* engine.h outside BPF: on the tables of store.h, without limits to loops. */
#ifndef TIMERSHIELD_BLAME_ENGINE_STORES_H
#define TIMERSHIELD_BLAME_ENGINE_STORES_H

#include "store.h"

#define LOOKUP(store, key) store_find(&(store), key)
#define INSERT(store, key, value) store_insert(&(store), key, value)
#define PUT(store, key, value) store_put(&(store), key, value)
#define REMOVE(store, key) store_remove(&(store), key)
#define ADD(counter, number) ((counter) += (number))
#define NOINLINE
#ifndef WHY_THROTTLED
#define WHY_THROTTLED(victim) 0	/* no event tells, nor the other ones */
#endif
#define TAKE_STACK(context) ((void)(context), 0)
#define IS_SERVED(task) ((void)(task), 0)
#define LOOP(count, function, argument)						\
	do {									\
		for (u32 loop_i = 0; loop_i < (count); loop_i++)		\
			if (function(loop_i, argument))				\
				break;						\
	} while (0)

#endif
