#include "pack/tool/import/entry_table.h"

#include "base/scope.h"
#include <string.h>
#include <xxhash.h>

/* Open addressing. */
struct entry_slot {
	uint32_t hash;
	uint32_t entry; /* 0: free */
};

void entry_table_release(struct entry_table *table)
{
	free(table->slots);
	*table = (struct entry_table){0};
}

uint32_t entry_table_next(const struct entry_table *table, uint32_t hash, size_t *at)
{
	while (table->room > 0) {
		const struct entry_slot *slot = table->slots + ((hash + *at) & (table->room - 1));

		if (!slot->entry)
			break;
		++*at;
		if (slot->hash == hash)
			return slot->entry;
	}
	return 0;
}

static void put_slot(struct entry_slot *slots, size_t room, struct entry_slot slot)
{
	size_t i = slot.hash & (room - 1);

	while (slots[i].entry)
		i = (i + 1) & (room - 1);
	slots[i] = slot;
}

static int grow_table(struct entry_table *table)
{
	size_t room = table->room ? 2 * table->room : 64;
	struct entry_slot *slots = calloc(room, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < table->room; i++)
		if (table->slots[i].entry)
			put_slot(slots, room, table->slots[i]);
	free(table->slots);
	table->slots = slots;
	table->room = room;
	return 0;
}

/* At most seven of eight slots are used. A search for a hash that is not there then visits about 30
 * slots in a row, in the time that hashing 2 KB takes. */
int entry_table_add(struct entry_table *table, uint32_t hash, uint32_t entry)
{
	int r = table->count >= table->room / 8 * 7 ? grow_table(table) : 0;

	if (r < 0)
		return r;
	put_slot(table->slots, table->room, (struct entry_slot){.hash = hash, .entry = entry});
	table->count++;
	return 0;
}

uint32_t entry_table_hash(const void *data, size_t len)
{
	return (uint32_t)XXH3_64bits(data, len);
}

/* Among 10 million files, one in 400 has the hash of another one. Only files of the same size are
 * read then. */
int entry_table_find_bytes(const struct entry_table *table, const struct builder *builder,
			   uint32_t hash, const void *data, size_t len, uint32_t *ret_entry)
{
	size_t at = 0;
	uint32_t entry;

	while ((entry = entry_table_next(table, hash, &at)) != 0) {
		bool same;
		int r = builder_same(builder, entry, data, len, &same);

		if (r == 0 && same)
			*ret_entry = entry;
		if (r < 0 || same)
			return r;
	}
	return -ENOENT;
}

int entry_table_add_path(struct entry_table *table, const struct builder *builder, uint32_t entry)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = builder_path(builder, entry, &path);

	return r < 0 ? r : entry_table_add(table, entry_table_hash(path.data, path.len), entry);
}

int entry_table_find_path(const struct entry_table *table, const struct builder *builder,
			  const char *path, size_t len, uint32_t *ret_entry)
{
	SCOPE(buf_release) struct buf found = BUF_INIT;
	uint32_t hash = entry_table_hash(path, len), entry;
	size_t at = 0;

	while ((entry = entry_table_next(table, hash, &at)) != 0) {
		if (builder_path(builder, entry, &found) < 0)
			return -ENOMEM;
		if (found.len == len && memcmp(found.data, path, len) == 0) {
			*ret_entry = entry;
			return 0;
		}
	}
	return -ENOENT;
}
