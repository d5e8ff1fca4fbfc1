// SPDX-License-Identifier: GPL-2.0-or-later
#include "store.h"

#include "lib/text.h"

/* Values begin with, and consist of, numbers of up to 8 bytes. */
static size_t value_offset(const struct store *store)
{
	return (store->key + 7) & ~(size_t)7;
}

static unsigned char *slot_at(const struct store *store, size_t slot)
{
	return store->memory + slot * (value_offset(store) + store->value);
}

static size_t home_of(const struct store *store, const void *key)
{
	const unsigned char *bytes = key;
	uint64_t hash = 14695981039346656037ull;

	for (size_t i = 0; i < store->key; i++)
		hash = (hash ^ bytes[i]) * 1099511628211ull;
	return (size_t)(hash ^ hash >> 32) & (store->slots - 1);
}

/* Where KEY is, or the free slot in which it would be. */
static size_t seek(const struct store *store, const void *key)
{
	size_t slot = home_of(store, key);

	while (store->taken[slot] && memcmp(slot_at(store, slot), key, store->key))
		slot = (slot + 1) & (store->slots - 1);
	return slot;
}

static void prepare(struct store *store)
{
	for (store->slots = 16; store->slots < 2 * store->room; )
		store->slots *= 2;
	store->memory = grow(NULL, store->slots, value_offset(store) + store->value);
	store->taken = grow(NULL, store->slots, 1);
	store_clear(store);
}

void store_clear(struct store *store)
{
	if (store->taken)
		memset(store->taken, 0, store->slots);
	store->used = 0;
}

void store_free(struct store *store)
{
	free(store->memory);
	free(store->taken);
	store->memory = store->taken = NULL;
	store->slots = store->used = 0;
}

void *store_find(const struct store *store, const void *key)
{
	size_t slot;

	if (!store->taken)
		return NULL;
	slot = seek(store, key);
	return store->taken[slot] ? slot_at(store, slot) + value_offset(store) : NULL;
}

int store_put(struct store *store, const void *key, const void *value)
{
	size_t slot;

	if (!store->taken)
		prepare(store);
	slot = seek(store, key);
	if (!store->taken[slot] && store->used == store->room) {
		if (!store->forgetful)
			return -1;
		store_clear(store);
		slot = seek(store, key);
	}
	store->used += !store->taken[slot];
	store->taken[slot] = 1;
	memcpy(slot_at(store, slot), key, store->key);
	memcpy(slot_at(store, slot) + value_offset(store), value, store->value);
	return 0;
}

int store_insert(struct store *store, const void *key, const void *value)
{
	return store_find(store, key) ? -1 : store_put(store, key, value);
}

/* Entries behind the gap move up, unless they would be before their home then. */
void store_remove(struct store *store, const void *key)
{
	size_t gap, slot, home;

	if (!store_find(store, key))
		return;
	gap = slot = seek(store, key);
	for (;;) {
		slot = (slot + 1) & (store->slots - 1);
		if (!store->taken[slot])
			break;
		home = home_of(store, slot_at(store, slot));
		if (((slot - home) & (store->slots - 1)) < ((slot - gap) & (store->slots - 1)))
			continue;
		memcpy(slot_at(store, gap), slot_at(store, slot),
		       value_offset(store) + store->value);
		gap = slot;
	}
	store->taken[gap] = 0;
	store->used--;
}

bool store_slot(const struct store *store, size_t slot, void **key, void **value)
{
	if (!store->taken[slot])
		return false;
	*key = slot_at(store, slot);
	*value = slot_at(store, slot) + value_offset(store);
	return true;
}
