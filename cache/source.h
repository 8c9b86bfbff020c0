/* What the cache reads from, as it is told by who knows packs: where extents are, whether what was
 * read is right, and what else of their files matters. Asked by any thread, at any time. */
#pragma once

#include "base/extent.h"
#include "base/reader.h"

/* Called with a list of files: its name, for people, and its files in index order, by first
 * extents, or UINT32_MAX for one without bytes here; both valid during the call only. `classes`:
 * how many a loader makes of them; 0: not known. Returns 0 to go on, or -errno. */
typedef int cache_list_fn(void *arg, const char *name, const uint32_t *files, uint32_t count,
			  uint32_t classes);

struct cache_source_ops {
	struct extent (*extent)(void *context, uint64_t number);
	/* 0, or why these bytes, which make up the extent, must not be used. */
	int (*check)(void *context, uint64_t extent, const struct iovec *iov, int count);
	/* 0, or -errno when the file that has an extent is no longer what it was; asked for each
	 * fill, by I/O threads; by others only after reader_read_now(), or where they may wait. */
	int (*unchanged)(void *context, uint64_t extent);
	/* The kernel is to drop its copy soon. Called for each extent that a request touched, when
	 * it is answered, but for those that the page cache is to keep. */
	void (*drop)(void *context, uint64_t extent);
	/* Whether the kernel can be given its file before anybody asks; lock held. */
	bool (*may_push)(void *context, uint64_t extent);
	/* Called for each extent that was asked for and could not be read. */
	void (*failed)(void *context, uint64_t extent, int error);
	/* Alike for files that loaders would list together by their names, unlike an image and its
	 * label. */
	uint64_t (*kind)(void *context, uint64_t extent);
	/* Tells `found` of the lists that a loader may index the file of `extent` by. Returns 0,
	 * what found gave, or -ENOMEM. */
	int (*lists)(void *context, uint64_t extent, cache_list_fn *found, void *arg);
};

struct cache_source {
	const struct cache_source_ops *ops;
	void *context;
	struct reader *reader; /* borrowed; prepared by cache_new() */
	uint64_t extents;
	void (*notice)(const char *line); /* an order was recognised */
};
