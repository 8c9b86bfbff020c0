#include "pack/foreign/pages.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include <stdlib.h>
#include <string.h>

#define KEPT_BYTES (128 * MIB)
#define KEPT_LEAST MIB /* what a page counts at least: they are searched one by one */

struct pages_kept {
	struct pages_kept *next; /* used before this one */
	struct reader *file;
	struct page page;
	uint64_t offset;
	uint8_t *bytes; /* not changed once it is ready */
	unsigned users; /* threads that wait for it, or copy from it */
	bool ready;	/* unpacked, or it has failed */
	bool stale;	/* nobody finds it any more */
	int error;
};

uint64_t page_bytes(const struct page *page)
{
	bool fits = page->unpacked && page->unpacked <= PAGE_MOST && page->packed <= PAGE_MOST;

	return fits ? page->packed : 0;
}

static int read_and_unpack(const struct pages_kept *kept)
{
	const struct page *page = &kept->page;
	SCOPE_FREE uint8_t *packed = malloc(page->packed);
	int r = packed ? reader_get_full(kept->file, packed, page->packed, kept->offset) : -ENOMEM;

	return r < 0 ? r
		     : codec_unpack(page->codec, packed, page->packed, kept->bytes, page->unpacked,
				    NULL);
}

/* --- with the lock ---------------------------------------------------------------------------- */

/* Moves it to the front. */
static struct pages_kept *find_kept(struct pages *pages, const struct reader *file,
				    const struct page *page, uint64_t offset)
{
	for (struct pages_kept **link = &pages->first, *kept; (kept = *link); link = &kept->next)
		if (!kept->stale && kept->file == file && kept->offset == offset &&
		    kept->page.packed == page->packed && kept->page.unpacked == page->unpacked &&
		    kept->page.codec == page->codec) {
			*link = kept->next;
			kept->next = pages->first;
			pages->first = kept;
			return kept;
		}
	return NULL;
}

/* Frees pages that nobody uses, if they are stale, or if those used later fill the budget. */
static void trim(struct pages *pages)
{
	uint64_t sum = 0;

	for (struct pages_kept **link = &pages->first, *kept; (kept = *link);) {
		sum += max(kept->page.unpacked, KEPT_LEAST);
		if (kept->users || (!kept->stale && sum <= KEPT_BYTES)) {
			link = &kept->next;
			continue;
		}
		*link = kept->next;
		free(kept->bytes);
		free(kept);
	}
}

static struct pages_kept *add_kept(struct pages *pages, struct reader *file,
				   const struct page *page, uint64_t offset)
{
	struct pages_kept *kept = calloc(1, sizeof(*kept));
	uint8_t *bytes = malloc(page->unpacked);

	if (!kept || !bytes) {
		free(kept);
		free(bytes);
		return NULL;
	}
	*kept = (struct pages_kept){.next = pages->first,
				    .file = file,
				    .page = *page,
				    .offset = offset,
				    .bytes = bytes,
				    .users = 1};
	pages->first = kept;
	return kept;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Waits until the page is ready or has failed. The caller then uses it, and counts `users` down. */
static int use(struct pages *pages, struct reader *file, const struct page *page, uint64_t offset,
	       struct pages_kept **ret)
{
	SCOPE_LOCK(&pages->lock);
	struct pages_kept *kept = find_kept(pages, file, page, offset);
	int r;

	if (kept) {
		kept->users++;
		while (!kept->ready)
			pthread_cond_wait(&pages->ready, &pages->lock);
	} else {
		kept = add_kept(pages, file, page, offset);
		if (!kept)
			return -ENOMEM;
		/* Unpacks it, without the lock meanwhile. */
		pthread_mutex_unlock(&pages->lock);
		r = read_and_unpack(kept);
		/* A copy of the file may be damaged. */
		if (r == -EBADMSG && reader_bad(kept->file, kept->offset, kept->page.packed))
			r = read_and_unpack(kept);
		pthread_mutex_lock(&pages->lock);
		kept->ready = true;
		kept->error = r == -EBADMSG ? -EIO : r;
		kept->stale |= r < 0;
		pthread_cond_broadcast(&pages->ready);
	}
	*ret = kept;
	return kept->error;
}

int pages_read(struct pages *pages, struct reader *file, const struct page *page, uint64_t offset,
	       uint64_t from, uint8_t *out, size_t len)
{
	struct pages_kept *kept = NULL;
	int r = use(pages, file, page, offset, &kept);

	if (r == 0)
		memcpy(out, kept->bytes + from, len);
	if (!kept)
		return r;
	SCOPE_LOCK(&pages->lock);
	kept->users--;
	trim(pages);
	return r;
}

void pages_forget(struct pages *pages, const struct reader *file, uint64_t offset)
{
	SCOPE_LOCK(&pages->lock);
	for (struct pages_kept *kept = pages->first; kept; kept = kept->next)
		kept->stale |= kept->file == file && kept->offset == offset;
	trim(pages);
}

void pages_drop(struct pages *pages, const struct reader *file)
{
	SCOPE_LOCK(&pages->lock);
	for (struct pages_kept *kept = pages->first; kept; kept = kept->next)
		kept->stale |= kept->file == file;
	trim(pages);
}
