/* Finds entries by a hash of 32 bits. Equal hashes prove nothing: the entries are compared. All
 * zero is an empty table. Memory: 9 to 18 bytes an entry, and half as much again while it grows.
 * One thread finds and adds; any thread may hash. */
#pragma once

#include "pack/write/builder.h"

struct entry_table {
	struct entry_slot *slots; /* a power of two of them */
	size_t count, room;
};

void entry_table_release(struct entry_table *table);

/* The next entry that was added with this hash, or 0. *at is 0 at first. */
uint32_t entry_table_next(const struct entry_table *table, uint32_t hash, size_t *at);

/* Adds an entry, which is not 0. Returns 0 or -ENOMEM. */
int entry_table_add(struct entry_table *table, uint32_t hash, uint32_t entry);

/* The hash of the bytes of a file. */
uint32_t entry_table_hash(const void *data, size_t len);

/* The entry that was added with this hash and whose file has these bytes: 0, -ENOENT, or as
 * builder_same(). */
int entry_table_find_bytes(const struct entry_table *table, const struct builder *builder,
			   uint32_t hash, const void *data, size_t len, uint32_t *ret_entry);

/* Adds an entry of a builder by its path. 0 or -ENOMEM. */
int entry_table_add_path(struct entry_table *table, const struct builder *builder, uint32_t entry);
/* The entry that was added by this path: 0, -ENOENT or -ENOMEM. */
int entry_table_find_path(const struct entry_table *table, const struct builder *builder,
			  const char *path, size_t len, uint32_t *ret_entry);
