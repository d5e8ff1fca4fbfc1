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

#endif
