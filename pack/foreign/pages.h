/* Compressed pages of a file, unpacked when bytes of them are read. The last used are kept, up to
 * 128 MiB. A page is unpacked once, by the first thread that wants it. Others that want it wait;
 * those that want another page do not. Any thread. */
#ifndef PACK_FOREIGN_PAGES_H
#define PACK_FOREIGN_PAGES_H

#include "base/reader.h"
#include "pack/foreign/codec.h"

struct page {
	uint32_t packed, unpacked; /* bytes */
	enum codec codec;
};

#define PAGE_MOST ((uint32_t)64 << 20) /* bytes, packed or unpacked */

/* Bytes of a page in the file; 0: no page is like that. */
uint64_t page_bytes(const struct page *page);

struct pages;

/* The source stays the caller's. Returns 0 or -ENOMEM. */
int pages_new(struct reader *source, struct pages **ret);
void pages_free(struct pages *pages);

/* Bytes [from, from + len) of the page at `offset` of the file, which has them. Returns 0, -EIO (it
 * is damaged), -ENOMEM, -ENOSYS (the library is missing), or the error of a read. */
int pages_read(struct pages *pages, const struct page *page, uint64_t offset, uint64_t from,
	       uint8_t *out, size_t len);

/* Has the page at `offset` read anew the next time. */
void pages_forget(struct pages *pages, uint64_t offset);

#endif
