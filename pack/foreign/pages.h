/* Compressed pages of files, unpacked when bytes of them are read. The last used are kept, up to
 * 128 MiB for all files together. A page is unpacked once, by the first thread that wants it.
 * Others that want it wait; those that want another page do not. Any thread. */
#pragma once

#include "base/reader.h"
#include "pack/foreign/codec.h"
#include "pack/foreign/settings.h"

struct page {
	uint32_t packed, unpacked; /* bytes */
	enum codec codec;
};

#define PAGE_MOST ((uint32_t)64 << 20) /* bytes, packed or unpacked */

/* Bytes of a page in the file; 0: no page is like that. */
uint64_t page_bytes(const struct page *page);

/* Bytes [from, from + len) of the page at `offset` of the file, which has them. Returns 0, -EIO (it
 * is damaged), -ENOMEM, -ENOSYS (the library is missing), or the error of a read. */
int pages_read(struct pages *pages, struct reader *file, const struct page *page, uint64_t offset,
	       uint64_t from, uint8_t *out, size_t len);

/* Has the page at `offset` read anew the next time. */
void pages_forget(struct pages *pages, const struct reader *file, uint64_t offset);
/* Frees all pages of a file, which nobody reads any more. */
void pages_drop(struct pages *pages, const struct reader *file);
