#include "pack/tool/import/dedup_table.h"

#include <errno.h>
#include <xxhash.h>

void dedup_table_release(struct dedup_table *table)
{
	entry_table_release(&table->table);
}

uint32_t dedup_table_hash(const void *data, size_t len)
{
	return (uint32_t)XXH3_64bits(data, len);
}

/* Of 10 million files one in 400 has the hash of another one; what is read then are those of the
 * same size. */
int dedup_table_find(const struct dedup_table *table, const struct builder *builder, uint32_t hash,
		     const void *data, size_t len, uint32_t *ret_entry)
{
	size_t at = 0;
	uint32_t entry;

	while ((entry = entry_table_next(&table->table, hash, &at)) != 0) {
		bool same;
		int r = builder_same(builder, entry, data, len, &same);

		if (r < 0)
			return r;
		if (same) {
			*ret_entry = entry;
			return 0;
		}
	}
	return -ENOENT;
}

int dedup_table_add(struct dedup_table *table, uint32_t hash, uint32_t entry)
{
	return entry_table_add(&table->table, hash, entry);
}
