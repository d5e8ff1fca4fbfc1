/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What engine.bpf.c needs of BPF, for its test: small tables, and no limits to loops. */
#ifndef TIMERSHIELD_BLAME_STORE_H
#define TIMERSHIELD_BLAME_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define STORE_ROOM 100
#define STORE_KEY 32
#define STORE_VALUE 1024

struct store {
	size_t key, value;		/* sizes */
	size_t used;
	_Alignas(8) unsigned char keys[STORE_ROOM][STORE_KEY], values[STORE_ROOM][STORE_VALUE];
};

static inline void *store_find(struct store *store, const void *key)
{
	for (size_t i = 0; i < store->used; i++)
		if (!memcmp(store->keys[i], key, store->key))
			return store->values[i];
	return NULL;
}

static inline int store_put(struct store *store, const void *key, const void *value)
{
	void *there = store_find(store, key);

	if (!there && store->used == STORE_ROOM)
		return -1;
	if (!there) {
		memcpy(store->keys[store->used], key, store->key);
		there = store->values[store->used++];
	}
	memcpy(there, value, store->value);
	return 0;
}

static inline void store_remove(struct store *store, const void *key)
{
	unsigned char *there = store_find(store, key);
	size_t last = store->used - 1;

	if (!there)
		return;
	memcpy(store->keys[(there - store->values[0]) / STORE_VALUE], store->keys[last], store->key);
	memmove(there, store->values[last], store->value);
	store->used--;
}

#define LOOKUP(store, key) store_find(&(store), key)
#define INSERT(store, key, value) (store_find(&(store), key) ? -1 : store_put(&(store), key, value))
#define PUT(store, key, value) store_put(&(store), key, value)
#define REMOVE(store, key) store_remove(&(store), key)
#define ADD(counter, number) ((counter) += (number))
#define SUBPROGRAM static
#define TAKE_STACK(context) ((void)(context), 0)
#define IS_SERVED(task) ((void)(task), 0)

#endif
