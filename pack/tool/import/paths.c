#include "pack/tool/import/paths.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

void paths_release(struct paths *paths)
{
	table_release(&paths->table);
	buf_release(&paths->path);
}

static uint32_t hash_of(const char *path, size_t len)
{
	return (uint32_t)XXH3_64bits(path, len);
}

int paths_find(struct paths *paths, const struct builder *builder, const char *path, size_t len,
	       uint32_t *ret_entry)
{
	uint32_t hash = hash_of(path, len), entry;
	size_t at = 0;

	while ((entry = table_next(&paths->table, hash, &at)) != 0) {
		if (builder_path(builder, entry, &paths->path) < 0)
			return -ENOMEM;
		if (paths->path.len == len && memcmp(paths->path.data, path, len) == 0) {
			*ret_entry = entry;
			return 0;
		}
	}
	return -ENOENT;
}

int paths_add(struct paths *paths, const char *path, size_t len, uint32_t entry)
{
	return table_add(&paths->table, hash_of(path, len), entry);
}
