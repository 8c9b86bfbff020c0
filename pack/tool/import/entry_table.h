/* Finds entries of a builder by their bytes, or by their paths. */
#pragma once

#include "base/number_table.h"
#include "pack/write/builder.h"

/* The hash of the bytes of a file. */
uint32_t entry_table_hash(const void *data, size_t len);

/* The entry that was added with this hash and whose file has these bytes: 0, -ENOENT, or as
 * builder_same(). */
int entry_table_find_bytes(const struct number_table *table, const struct builder *builder,
			   uint32_t hash, const void *data, size_t len, uint32_t *ret_entry);

/* Adds an entry of a builder by its path. 0 or -ENOMEM. */
int entry_table_add_path(struct number_table *table, const struct builder *builder, uint32_t entry);
/* The entry that was added by this path: 0, -ENOENT or -ENOMEM. */
int entry_table_find_path(const struct number_table *table, const struct builder *builder,
			  const char *path, size_t len, uint32_t *ret_entry);
