/* One pack in the disk cache: a copy of as much as was read.
 *
 *	FOLDER/data	a sparse file of the pack's size; each byte lies where it does in the pack.
 *			What is missing is a hole (SEEK_HOLE in lseek(2))
 *
 * A filesystem calls a page data once it is written, so that a process that is killed leaves no
 * wrong byte. Nothing is synced: after a power failure, pages may be missing, torn or zeros.
 * Checksums find that, as they find any damage, and blocks_forget() has the pages fetched again,
 * and written over.
 *
 * The holes are looked for when the copy is opened, and what this process writes is known. What
 * others write meanwhile is looked for where this process lacks something, if there are others, and
 * if it has found no damage. If somebody cuts the file, or the disk fails, a call fails, and no
 * process gets SIGBUS.
 *
 * Who fetches pages takes them before: a lock on these bytes of `data` (F_OFD_SETLK in fcntl(2)),
 * which a process that is killed does not leave. So processes that share a copy do not fetch a page
 * twice. Requests of one struct do not exclude each other. Ignoring a lock does no harm but fetch a
 * page twice.
 *
 * Threads: any number at once. */
#pragma once

#include "base/reader.h"
#include <sys/stat.h>

struct blocks;

/* Opens the copy in a folder, or makes an empty one, whose files get `mode`. Returns 0; -ENOENT:
 * somebody removed it meanwhile; or -errno. */
int blocks_open(int folder, uint64_t size, mode_t mode, struct blocks **ret);
void blocks_free(struct blocks *blocks); /* NULL is fine */

/* A reader of the copy alone. Returns 0, -ENOENT (pages are missing) or -errno. */
int blocks_open_complete(int folder, struct reader **ret);

/* Whether somebody has the copy open. Who opens it may do so right after. */
bool blocks_in_use(int folder);

/* Whether the filesystem of a folder is seen not to tell holes from data, page by page. */
bool blocks_hides_holes(int folder);

/* A reader of `data`, which does not look whether the pages are there. The copy owns it. */
struct reader *blocks_reader(const struct blocks *blocks);

/* The pages of the bytes from `begin` to `end`: whether all are there, as far as this process
 * knows. */
bool blocks_has(struct blocks *blocks, uint64_t begin, uint64_t end);

/* Finds the first pages that are missing from `at` on, at most `most` bytes; single ones that are
 * there may be among them. Returns false if nothing is missing. */
bool blocks_find_missing(struct blocks *blocks, uint64_t at, uint64_t most, uint64_t *ret_begin,
			 uint64_t *ret_end);

/* Divides a range of pages into parts that are there, and parts that are missing: gives the end of
 * each, at most `most`, and returns their number. */
unsigned blocks_divide(struct blocks *blocks, uint64_t at, uint64_t end, uint64_t *ends,
		       unsigned most);

enum blocks_taken {
	BLOCKS_THERE, /* the copy has all of them */
	BLOCKS_TAKEN, /* to be fetched; blocks_leave() is due */
	BLOCKS_BUSY,  /* others fetch some of them */
};
enum blocks_taken blocks_take(struct blocks *blocks, uint64_t begin, uint64_t end);
void blocks_leave(struct blocks *blocks, uint64_t begin, uint64_t end);

/* Writes pages. Buffer and offset are multiples of READER_PAGE, and so is the length unless the
 * range ends with the pack. Returns 0 or -errno. */
int blocks_write(struct blocks *blocks, const void *buf, size_t len, uint64_t offset);

/* Notes that the pages of these bytes are damaged, and so missing. Returns whether all of the pack
 * was there: of several that forget some, one is told so. */
bool blocks_forget(struct blocks *blocks, uint64_t offset, uint64_t len);

/* Whether all pages are there, as far as this process knows; _see_ looks whether others have
 * completed it. */
bool blocks_complete(const struct blocks *blocks);
bool blocks_see_complete(struct blocks *blocks);

/* Whether this process may fill the copy: true for one process at a time, until it gives that up.
 */
bool blocks_may_fill(struct blocks *blocks);
void blocks_give_up_filling(struct blocks *blocks);

uint64_t blocks_size(const struct blocks *blocks); /* of the pack, bytes */
uint64_t blocks_used(const struct blocks *blocks); /* of these, that are on the disk */
/* A number that tells it from other copies of the same folder. */
uint64_t blocks_number(const struct blocks *blocks);

/* The end of the page that holds byte `end - 1`. */
static inline uint64_t pages_end(uint64_t end)
{
	return (end + READER_PAGE - 1) / READER_PAGE * READER_PAGE;
}
