/* Reading extents that were added to the pool: one read of the device, then a check of each. */
#pragma once

#include "base/reader.h"
#include "cache/work.h"

struct cache;
struct pool_extent;

/* One read: extents by rising offset, FILLING and pinned for it. */
struct fill {
	struct work_item item;
	struct fill *next;   /* of the fills that one request led to */
	bool ahead;	     /* nobody waits for it, as far as is known */
	uint64_t begin, end; /* ns; begin 0: it was not read */
	/* Of one that was submitted: */
	struct cache *cache;
	struct reader_request request;
	struct iovec *iov; /* of the request */
	int error;	   /* of the read */
	bool one_by_one;   /* after that, each extent is to be read alone */
	unsigned count;	   /* at most PLAN_RUN_EXTENTS */
	struct pool_extent *extents[];
};

/* Returns NULL where memory is short; free(3) one that was not read. */
struct fill *fill_new(unsigned count);

/* Reads the fill. If a read of several extents fails, fill_check() reads each alone: only the one
 * that cannot be read is to suffer. */
void fill_read(struct cache *cache, struct fill *fill);
/* The same, but only if it need not wait for the device: else false, and nothing has happened. */
bool fill_read_now(struct cache *cache, struct fill *fill);
/* Whether an extent of a fill that was read is right: 0 or -errno. A copy that is not is read once
 * more, from elsewhere. */
int fill_check(struct cache *cache, const struct fill *fill, unsigned i);

/* Begins to read the fill, where storage is far. At the end of the read it is queued as work. May
 * wait, to learn whether the file has changed, or because not all of the storage is remote. */
void fill_submit(struct cache *cache, struct fill *fill);
/* Whether that was done: fill_land() is next. */
bool fill_is_submitted(const struct fill *fill);
/* From the queue: it was read. Returns fills that are to be read in its place, if several extents
 * could not be read at once: each of them alone, which is no more in this one. */
struct fill *fill_land(struct cache *cache, struct fill *fill);
/* Somebody waits for the extent, which is FILLING. Lock held. */
void fill_hurry(struct pool_extent *extent);
