/* One pack in the disk cache: a copy of it, as far as it was read.
 *
 *	FOLDER/data	a sparse file of the pack's size; each byte lies where it does in the pack
 *	FOLDER/map	a header of one page, then a byte for each page of the pack: 1 where `data`
 *			has it
 *
 * A page is written first and noted then, so that a process that is killed leaves no wrong byte.
 * Nothing is synced: after a power failure, pages that are noted may be missing or torn. Checksums
 * find that, as they find any damage, and blocks_forget() has the pages fetched again.
 *
 * Any number of processes share a copy without locks, as a note is one byte. The map is read and
 * written by system calls and never mapped: where the disk is full, or fails, or somebody cuts the
 * map off, a call has an error, and no process gets SIGBUS.
 *
 * Threads: any number at once. */
#ifndef REMOTE_BLOCKS_H
#define REMOTE_BLOCKS_H

#include "base/reader.h"
#include <sys/stat.h>

struct blocks;

/* Opens the copy in a folder, and makes it where there is none, or none that is whole; `mode` is
 * that of its files. As long as it is open, it has a shared flock(2) on `data`. Two processes must
 * not do this at the same time, and none may remove the folder meanwhile: block_store.c sees to
 * that. Returns 0, -EBUSY (not whole, but others use it) or -errno. */
int blocks_open(int folder, uint64_t size, mode_t mode, struct blocks **ret);
void blocks_free(struct blocks *blocks); /* NULL is fine */

/* A reader of the copy by itself, which has the lock as well. Returns 0, -ENOENT (not all pages are
 * there) or -errno. */
int blocks_open_complete(int folder, struct reader **ret);

/* Reads `data`, whether its pages are there or not. It stays the copy's. */
struct reader *blocks_reader(const struct blocks *blocks);

/* Whether the page at `offset` is there; *ret_end is where those that are alike end, at most at
 * `end`. All three are multiples of READER_PAGE. */
bool blocks_look(const struct blocks *blocks, uint64_t offset, uint64_t end, uint64_t *ret_end);

/* Writes pages, and notes them. Buffer and offset are multiples of READER_PAGE; so is the length,
 * or it reaches to the pack's end. Returns 0 or -errno. */
int blocks_write(struct blocks *blocks, const void *buf, size_t len, uint64_t offset);

/* All pages that these bytes touch are not there. */
void blocks_forget(struct blocks *blocks, uint64_t offset, uint64_t len);

/* Whether all pages are there, as this process has found, or seen that another has. */
bool blocks_complete(const struct blocks *blocks);
bool blocks_see_complete(struct blocks *blocks);
void blocks_set_complete(struct blocks *blocks);

/* A descriptor of the map of its own, for locks. Returns it or -errno. */
int blocks_open_map(const struct blocks *blocks);

/* Whether this process is the one that fills the copy: true for one at a time. */
bool blocks_may_fill(struct blocks *blocks);

uint64_t blocks_size(const struct blocks *blocks); /* of the pack */
uint64_t blocks_used(const struct blocks *blocks); /* bytes of the disk */

#endif
