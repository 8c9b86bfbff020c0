#include "pack/tool/import/path_map.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

void path_map_release(struct path_map *map)
{
	entry_table_release(&map->table);
	buf_release(&map->path);
}

static uint32_t hash_of(const char *path, size_t len)
{
	return (uint32_t)XXH3_64bits(path, len);
}

int path_map_find(struct path_map *map, const struct builder *builder, const char *path, size_t len,
		  uint32_t *ret_entry)
{
	uint32_t hash = hash_of(path, len), entry;
	size_t at = 0;

	while ((entry = entry_table_next(&map->table, hash, &at)) != 0) {
		if (builder_path(builder, entry, &map->path) < 0)
			return -ENOMEM;
		if (map->path.len == len && memcmp(map->path.data, path, len) == 0) {
			*ret_entry = entry;
			return 0;
		}
	}
	return -ENOENT;
}

int path_map_add(struct path_map *map, const char *path, size_t len, uint32_t entry)
{
	return entry_table_add(&map->table, hash_of(path, len), entry);
}
