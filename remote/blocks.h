/* One pack in the disk cache: a copy of as much as was read.
 *
 *	FOLDER/data	a sparse file of the pack's size; each byte lies where it does in the pack
 *	FOLDER/map	a header of one page, then a byte for each page of the pack: 1 where `data`
 *			has it
 *
 * A page is first written, then noted, so that a process that is killed leaves no wrong byte.
 * Nothing is synced: after a power failure, noted pages may be missing or torn. Checksums find
 * that, as they find any damage, and blocks_forget() has the pages fetched again.
 *
 * Any number of processes can share a copy without locks, because a note is one byte. The map is
 * read and written by system calls, never mapped into memory: if the disk is full or fails, or
 * somebody truncates the map, a call fails, and no process gets SIGBUS.
 *
 * Threads: any number at once. */
#pragma once

#include "base/reader.h"
#include <sys/stat.h>

struct blocks;

/* Opens the copy in a folder. If there is none, or a broken one, it makes an empty one, whose files
 * get `mode`. While it is open, it has a shared flock(2) on `data`. Two processes must not do this
 * at the same time, and none may remove the folder meanwhile: block_store.c ensures both. Returns
 * 0, -EBUSY (it is broken, but others use it) or -errno. */
int blocks_open(int folder, uint64_t size, mode_t mode, struct blocks **ret);
void blocks_free(struct blocks *blocks); /* NULL is fine */

/* A reader of the copy alone, which holds the lock too. Returns 0, -ENOENT (pages are missing) or
 * -errno. */
int blocks_open_complete(int folder, struct reader **ret);

/* A reader of `data`, which does not look whether the pages are there. The copy owns it. */
struct reader *blocks_reader(const struct blocks *blocks);

/* Whether the page at `offset` is there. *ret_end: up to where all pages are alike, at most `end`.
 * All three are multiples of READER_PAGE. */
bool blocks_look(const struct blocks *blocks, uint64_t offset, uint64_t end, uint64_t *ret_end);

/* Writes pages, and notes them. Buffer and offset are multiples of READER_PAGE, and so is the
 * length unless the range ends with the pack. Returns 0 or -errno. */
int blocks_write(struct blocks *blocks, const void *buf, size_t len, uint64_t offset);

/* Notes that the pages of these bytes are not there. Returns whether this process had all pages, as
 * far as it knew: of several that forget some, one is told so. */
bool blocks_forget(struct blocks *blocks, uint64_t offset, uint64_t len);

/* Whether all pages are there, as far as this process knows; as far as any that shares the copy
 * does; _see_ looks for that, and this process knows it then. */
bool blocks_complete(const struct blocks *blocks);
bool blocks_noted_complete(const struct blocks *blocks);
bool blocks_see_complete(struct blocks *blocks);
void blocks_set_complete(struct blocks *blocks);

/* The descriptor of the map, for locks behind its header. */
int blocks_map(const struct blocks *blocks);
/* Opens the map again, for locks. Returns a descriptor or -errno. */
int blocks_open_map(const struct blocks *blocks);

/* Whether this process may fill the copy: true for one process at a time, until it gives that up.
 */
bool blocks_may_fill(struct blocks *blocks);
void blocks_give_up_filling(struct blocks *blocks);

uint64_t blocks_size(const struct blocks *blocks); /* of the pack, bytes */
uint64_t blocks_used(const struct blocks *blocks); /* on the disk, bytes */
/* A number that tells it from other copies of the same folder. */
uint64_t blocks_number(const struct blocks *blocks);
