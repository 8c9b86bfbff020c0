/* Files with the same bytes, while packing: a table from what is in a file to the entry that it was
 * stored for, whose bytes the builder has. All zero is empty. One thread finds and adds; any may
 * hash. */
#ifndef PACK_TOOL_IMPORT_DEDUP_TABLE_H
#define PACK_TOOL_IMPORT_DEDUP_TABLE_H

#include "pack/tool/import/entry_table.h"
#include "pack/write/builder.h"

struct dedup_table {
	struct entry_table table;
};

void dedup_table_release(struct dedup_table *table);

/* Whether bytes of that size are worth being looked for: a reference in their place takes the path
 * of the other file and 13 bytes. */
static inline bool dedup_table_pays(uint64_t size)
{
	return size > 512;
}

/* Of the bytes of a whole file. */
uint32_t dedup_table_hash(const void *data, size_t len);

/* The entry that was added and has these bytes: 0, -ENOENT, or as builder_same(). */
int dedup_table_find(const struct dedup_table *table, const struct builder *builder, uint32_t hash,
		     const void *data, size_t len, uint32_t *ret_entry);

/* Notes an entry, not 0, that was stored with such bytes, which none has yet. 0 or -ENOMEM. */
int dedup_table_add(struct dedup_table *table, uint32_t hash, uint32_t entry);

#endif
