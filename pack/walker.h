/* Reads an LMDB file (data format 1) through a reader, and survives any damage.
 *
 * liblmdb maps the file, asserts and faults on damage (CVE-2019-16224 and later), and needs a lock
 * file. So liblmdb writes packs, and this reads them. It can do what a pack or a foreign dataset
 * needs: the newer of the two meta pages, the main database, keys with one value each (no DUPSORT),
 * in key order. Every page number, length and offset is checked against the file before it is used.
 * A walk visits no more pages than the file has, nor do its values have more. Damage is -EBADMSG
 * with a sentence that names page and field: "page 17: lower 4090 beyond upper 12".
 *
 * Layout, from lmdb.h and mdb.c of 0.9.24 (LMDB_DATA_VERSION 1, 64-bit little-endian):
 *	page header  16 bytes: u64 pgno, u16 pad, u16 flags, u16 lower, u16 upper
 *	             (overflow page: u32 count of pages instead of lower, upper)
 *	meta page    header, u32 magic 0xBEEFC0DE, u32 version, u64 address, u64 mapsize,
 *	             2 x struct db { u32 pad, u16 flags, u16 depth, u64 branch, u64 leaf,
 *	             u64 overflow, u64 entries, u64 root }, u64 last_pg, u64 txnid;
 *	             dbs[0].pad is the page size, dbs[1] the main database
 *	node         u16 lo, u16 hi, u16 flags, u16 ksize, key, data; a leaf's data size is
 *	             lo | hi << 16; a branch's child is lo | hi << 16 | flags << 32
 *	             F_BIGDATA (1): data is a u64 page number; the value lies at its byte 16
 *
 * Not thread-safe. The reader stays the caller's and must outlive the walker. */
#pragma once

#include "base/err.h"
#include "base/reader.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct walker;

struct walker_info {
	uint32_t page_size; /* 4 to 64 KiB, a power of two */
	uint16_t depth;	    /* of the main database, levels */
	uint64_t txnid, root, last_page;
	uint64_t branch_pages, leaf_pages, overflow_pages, entries; /* of the main database */
	bool named; /* a walk ended at a database with a name of its own: -EBADMSG */
};

struct walker_record {
	const uint8_t *key; /* lives until the next call on this walker */
	size_t key_len;
	uint64_t offset;      /* of the value's first byte in the file */
	uint64_t size;	      /* of the value, bytes; offset + size is within the file */
	const uint8_t *value; /* where it is in memory, which small ones are; lives like the key;
				 or NULL */
};

/* Reads and checks the meta pages. Returns 0; -EINVAL: no LMDB file (err: "not an LMDB file");
 * -EPROTONOSUPPORT: another data format or byte order; -EBADMSG: damaged; -ENOMEM, or the error of
 * the read. */
int walker_new(struct reader *reader, struct walker **ret, struct err *err);
void walker_free(struct walker *walker);

/* For SCOPE(). */
static inline void walker_release(struct walker **walker)
{
	walker_free(*walker);
}

const struct walker_info *walker_info(const struct walker *walker);

/* Whether the file has all its pages: 0, or -EBADMSG ("truncated: N bytes, M expected"). One that
 * has not may be whole: liblmdb does not write pages that a transaction makes and frees, and the
 * last ones may be such. A walk says the same of a record that is not all in the file. */
int walker_check_end(const struct walker *walker, struct err *err);

/* The record of the smallest key, and then of each next one.
 * Return 0, 1 at the end (ret unchanged), -EBADMSG or the error of the read. */
int walker_first(struct walker *walker, struct walker_record *ret, struct err *err);
int walker_next(struct walker *walker, struct walker_record *ret, struct err *err);
/* The record of the smallest key that is not before this one; walker_next() goes on from there.
 * Reads one page a level, and at most one more leaf. Returns as walker_first(). */
int walker_seek(struct walker *walker, const void *key, size_t key_len, struct walker_record *ret,
		struct err *err);
