#include "pack/tool/import/entry_table.h"

#include "base/scope.h"
#include <string.h>
#include <xxhash.h>

uint32_t entry_table_hash(const void *data, size_t len)
{
	return (uint32_t)XXH3_64bits(data, len);
}

/* Among 10 million files, one in 400 has the hash of another one. Only files of the same size are
 * read then. */
int entry_table_find_bytes(const struct number_table *table, const struct builder *builder,
			   uint32_t hash, const void *data, size_t len, uint32_t *ret_entry)
{
	size_t at = 0;
	uint32_t entry;

	while ((entry = number_table_next(table, hash, &at)) != 0) {
		bool same;
		int r = builder_same(builder, entry, data, len, &same);

		if (r == 0 && same)
			*ret_entry = entry;
		if (r < 0 || same)
			return r;
	}
	return -ENOENT;
}

int entry_table_add_path(struct number_table *table, const struct builder *builder, uint32_t entry)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = builder_path(builder, entry, &path);

	return r < 0 ? r : number_table_add(table, entry_table_hash(path.data, path.len), entry);
}

int entry_table_find_path(const struct number_table *table, const struct builder *builder,
			  const char *path, size_t len, uint32_t *ret_entry)
{
	SCOPE(buf_release) struct buf found = BUF_INIT;
	uint32_t hash = entry_table_hash(path, len), entry;
	size_t at = 0;

	while ((entry = number_table_next(table, hash, &at)) != 0) {
		if (builder_path(builder, entry, &found) < 0)
			return -ENOMEM;
		if (found.len == len && memcmp(found.data, path, len) == 0) {
			*ret_entry = entry;
			return 0;
		}
	}
	return -ENOENT;
}
