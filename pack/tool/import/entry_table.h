/* Entries by a hash: open addressing in slots of 8 bytes. All zero is empty.
 *
 * The hash has 32 bits and proves nothing: the caller compares the entries
 * that have it. Memory: 9 to 18 bytes an entry, and half as much again while it grows. One thread
 * looks and adds. */
#ifndef PACK_TOOL_IMPORT_ENTRY_TABLE_H
#define PACK_TOOL_IMPORT_ENTRY_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct entry_table {
	struct entry_slot *slots; /* a power of two of them */
	size_t count, room;
};

void entry_table_release(struct entry_table *table);

/* The next entry that was added with that hash, or 0. `at` is 0 at first. */
uint32_t entry_table_next(const struct entry_table *table, uint32_t hash, size_t *at);

/* Adds an entry, which is not 0. Returns 0 or -ENOMEM. */
int entry_table_add(struct entry_table *table, uint32_t hash, uint32_t entry);

#endif
