#include "pack/foreign/pages.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include <stdlib.h>
#include <string.h>

#define KEPT_BYTES (128 * MIB)
#define KEPT_LEAST MIB /* what a page counts at least: they are searched one by one */

struct kept {
	struct kept *next; /* used before this one */
	struct page page;
	uint64_t offset;
	uint8_t *bytes; /* not changed once it is ready */
	unsigned users; /* threads that wait for it, or copy from it */
	bool ready;	/* unpacked, or it has failed */
	bool stale;	/* nobody finds it any more */
	int error;
};

struct pages {
	struct reader *source;
	pthread_mutex_t lock;
	pthread_cond_t ready; /* a page has become it */
	struct kept *first;   /* by `lock`, as are its fields, but not what `bytes` points to */
};

uint64_t page_bytes(const struct page *page)
{
	bool fits = page->unpacked && page->unpacked <= PAGE_MOST && page->packed <= PAGE_MOST;

	return fits ? page->packed : 0;
}

static int read_and_unpack(struct pages *pages, const struct kept *kept)
{
	const struct page *page = &kept->page;
	SCOPE_FREE uint8_t *packed = malloc(page->packed);
	int r = packed ? reader_get_full(pages->source, packed, page->packed, kept->offset)
		       : -ENOMEM;

	return r < 0 ? r
		     : codec_unpack(page->codec, packed, page->packed, kept->bytes, page->unpacked,
				    NULL);
}

/* A copy of the file may be damaged. */
static int unpack(struct pages *pages, const struct kept *kept)
{
	int r = read_and_unpack(pages, kept);

	if (r == -EBADMSG && reader_bad(pages->source, kept->offset, kept->page.packed))
		r = read_and_unpack(pages, kept);
	return r == -EBADMSG ? -EIO : r;
}

/* --- with the lock ---------------------------------------------------------------------------- */

static bool is_same(const struct kept *kept, const struct page *page, uint64_t offset)
{
	return !kept->stale && kept->offset == offset && kept->page.packed == page->packed &&
	       kept->page.unpacked == page->unpacked && kept->page.codec == page->codec;
}

/* Moves it to the front. */
static struct kept *find_kept(struct pages *pages, const struct page *page, uint64_t offset)
{
	for (struct kept **link = &pages->first, *kept; (kept = *link); link = &kept->next)
		if (is_same(kept, page, offset)) {
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

	for (struct kept **link = &pages->first, *kept; (kept = *link);) {
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

static struct kept *add_kept(struct pages *pages, const struct page *page, uint64_t offset)
{
	struct kept *kept = calloc(1, sizeof(*kept));
	uint8_t *bytes = malloc(page->unpacked);

	if (!kept || !bytes) {
		free(kept);
		free(bytes);
		return NULL;
	}
	*kept = (struct kept){
		.next = pages->first, .page = *page, .offset = offset, .bytes = bytes, .users = 1};
	pages->first = kept;
	return kept;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Unpacks it, without the lock meanwhile. */
static void make_ready(struct pages *pages, struct kept *kept)
{
	pthread_mutex_unlock(&pages->lock);
	int r = unpack(pages, kept);
	pthread_mutex_lock(&pages->lock);
	kept->ready = true;
	kept->error = r;
	kept->stale |= r < 0;
	pthread_cond_broadcast(&pages->ready);
}

/* Waits until the page is ready or has failed. The caller then uses it, and counts `users` down. */
static int use(struct pages *pages, const struct page *page, uint64_t offset, struct kept **ret)
{
	SCOPE_LOCK(&pages->lock);
	struct kept *kept = find_kept(pages, page, offset);

	if (kept) {
		kept->users++;
		while (!kept->ready)
			pthread_cond_wait(&pages->ready, &pages->lock);
	} else {
		kept = add_kept(pages, page, offset);
		if (!kept)
			return -ENOMEM;
		make_ready(pages, kept);
	}
	*ret = kept;
	return kept->error;
}

int pages_read(struct pages *pages, const struct page *page, uint64_t offset, uint64_t from,
	       uint8_t *out, size_t len)
{
	struct kept *kept = NULL;
	int r = use(pages, page, offset, &kept);

	if (r == 0)
		memcpy(out, kept->bytes + from, len);
	if (!kept)
		return r;
	SCOPE_LOCK(&pages->lock);
	kept->users--;
	trim(pages);
	return r;
}

void pages_forget(struct pages *pages, uint64_t offset)
{
	SCOPE_LOCK(&pages->lock);
	for (struct kept *kept = pages->first; kept; kept = kept->next)
		kept->stale |= kept->offset == offset;
	trim(pages);
}

int pages_new(struct reader *source, struct pages **ret)
{
	struct pages *pages = calloc(1, sizeof(*pages));

	if (!pages)
		return -ENOMEM;
	pages->source = source;
	pthread_mutex_init(&pages->lock, NULL);
	pthread_cond_init(&pages->ready, NULL);
	*ret = pages;
	return 0;
}

void pages_free(struct pages *pages)
{
	if (!pages)
		return;
	for (struct kept *kept = pages->first; kept; kept = kept->next)
		kept->stale = true;
	trim(pages);
	pthread_cond_destroy(&pages->ready);
	pthread_mutex_destroy(&pages->lock);
	free(pages);
}
