#include "pack/tool/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct paths_slot {
	uint32_t hash;
	uint32_t entry; /* 0: free */
};

void paths_release(struct paths *paths)
{
	free(paths->slots);
	buf_release(&paths->path);
	*paths = (struct paths){0};
}

static uint32_t hash_of(const char *path, size_t len)
{
	return (uint32_t)XXH3_64bits(path, len);
}

/* Of two paths with one hash either is found: the builder says which it is. */
int paths_find(struct paths *paths, const struct builder *builder, const char *path, size_t len,
	       uint32_t *ret_entry)
{
	uint32_t hash = hash_of(path, len);
	const struct paths_slot *slot;

	for (size_t i = hash; paths->room > 0; i++) {
		slot = paths->slots + (i & (paths->room - 1));
		if (!slot->entry)
			break;
		if (slot->hash != hash)
			continue;
		if (builder_path(builder, slot->entry, &paths->path) < 0)
			return -ENOMEM;
		if (paths->path.len == len && memcmp(paths->path.data, path, len) == 0) {
			*ret_entry = slot->entry;
			return 0;
		}
	}
	return -ENOENT;
}

static void put(struct paths_slot *slots, size_t room, struct paths_slot slot)
{
	size_t i = slot.hash & (room - 1);

	while (slots[i].entry)
		i = (i + 1) & (room - 1);
	slots[i] = slot;
}

static int grow(struct paths *paths)
{
	size_t room = paths->room ? 2 * paths->room : 64;
	struct paths_slot *slots = calloc(room, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < paths->room; i++)
		if (paths->slots[i].entry)
			put(slots, room, paths->slots[i]);
	free(paths->slots);
	paths->slots = slots;
	paths->room = room;
	return 0;
}

/* At most seven slots of eight are taken. */
int paths_add(struct paths *paths, const char *path, size_t len, uint32_t entry)
{
	int r = paths->count >= paths->room / 8 * 7 ? grow(paths) : 0;

	if (r < 0)
		return r;
	put(paths->slots, paths->room,
	    (struct paths_slot){.hash = hash_of(path, len), .entry = entry});
	paths->count++;
	return 0;
}
