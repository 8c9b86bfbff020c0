#include "pack/tool/import/contents.h"

#include <errno.h>
#include <xxhash.h>

void contents_release(struct contents *contents)
{
	table_release(&contents->table);
}

uint32_t contents_hash(const void *data, size_t len)
{
	return (uint32_t)XXH3_64bits(data, len);
}

/* Of 10 million files one in 400 has the hash of another one; what is read then are those of the
 * same size. */
int contents_find(const struct contents *contents, const struct builder *builder, uint32_t hash,
		  const void *data, size_t len, uint32_t *ret_entry)
{
	size_t at = 0;
	uint32_t entry;

	while ((entry = table_next(&contents->table, hash, &at)) != 0) {
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

int contents_add(struct contents *contents, uint32_t hash, uint32_t entry)
{
	return table_add(&contents->table, hash, entry);
}
