/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of bounded size, as BPF's maps are for the accounting. */
#ifndef TIMERSHIELD_BLAME_STORE_H
#define TIMERSHIELD_BLAME_STORE_H

#include <stdbool.h>
#include <stddef.h>

struct store {
	size_t key, value, room;	/* sizes; how many entries at most */
	bool forgetful;			/* when full, it forgets all instead of refusing one */
	size_t slots, used;
	unsigned char *memory, *taken;
};

void store_clear(struct store *store);
void store_free(struct store *store);

/* NULL if it is not there. Adding and removing others makes it invalid. */
void *store_find(const struct store *store, const void *key);

/* 0, or -1 if it is there already or there is no room. */
int store_insert(struct store *store, const void *key, const void *value);
int store_put(struct store *store, const void *key, const void *value);
void store_remove(struct store *store, const void *key);

/* The key and value in a slot; false if it is free. */
bool store_slot(const struct store *store, size_t slot, void **key, void **value);

/* What engine.h needs: these tables, and no limits to loops. */
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

#endif
