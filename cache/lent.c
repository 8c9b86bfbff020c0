/* How much the kernel can keep is told by nobody: it depends on what other processes want, on the
 * limits of groups, and on other mounts. But what was served whole and is asked for again, the
 * kernel has let go of. That extent leaves the share, and the share may have that much less from
 * then on: a set just too large for a kernel that evicts what was used longest ago would lose a
 * large part of itself in each epoch, over and over.
 *
 * It grows again by a part of what is read outside of it, as a sender's window grows by what is
 * acknowledged (Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988): by 1 / PROBE at first,
 * so that at the kernel's limit an epoch loses as much of what it reads anyway; and by twice as
 * much whenever the share has grown by 1 / PROBE of what it may have at most without a loss, so
 * that after a moment of need (a large allocation, drop_caches) it is back in some epochs. */
#include "cache/lent.h"
#include "base/bits.h"
#include "cache/page.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PROBE 64

struct lent {
	uint64_t most;
	uint64_t bytes, limit;
	uint64_t pace;	/* of 1 / PROBE: the part of what is read outside that it grows by */
	uint64_t grown; /* at this pace, bytes */
	bool recent;
	uint64_t set_bytes;
	uint8_t *in, *whole; /* sets of extents: in the share; and served in full since */
};

static void begin(struct lent *lent)
{
	lent->bytes = 0;
	lent->limit = lent->most;
	lent->pace = 1;
	lent->grown = 0;
}

int lent_new(uint64_t extents, uint64_t most, struct lent **ret)
{
	struct lent *lent = calloc(1, sizeof(*lent));

	if (!lent)
		return -ENOMEM;
	lent->most = most;
	lent->recent = most == LENT_ALL;
	lent->set_bytes = extents / 8 + 1;
	lent->in = calloc(2, lent->set_bytes);
	if (!lent->in) {
		free(lent);
		return -ENOMEM;
	}
	lent->whole = lent->in + lent->set_bytes;
	begin(lent);
	*ret = lent;
	return 0;
}

void lent_free(struct lent *lent)
{
	if (!lent)
		return;
	free(lent->in);
	free(lent);
}

void lent_recent(struct lent *lent, bool recent)
{
	recent = recent && lent->most > 0;
	if (lent->recent == recent)
		return;
	lent->recent = recent;
	memset(lent->in, 0, 2 * lent->set_bytes);
	begin(lent);
}

bool lent_is_recent(const struct lent *lent)
{
	return lent->recent;
}

static void lose(struct lent *lent, uint64_t extent, uint64_t memory)
{
	bit_clear(lent->in, extent);
	bit_clear(lent->whole, extent);
	lent->bytes -= memory;
	lent->limit -= memory;
	lent->pace = 1;
	lent->grown = 0;
}

static void grow(struct lent *lent, uint64_t memory)
{
	uint64_t step = memory * lent->pace / PROBE;

	if (step > lent->most - lent->limit)
		step = lent->most - lent->limit;
	lent->limit += step;
	lent->grown += step;
	if (lent->grown < lent->most / PROBE || lent->pace == PROBE)
		return;
	lent->pace *= 2;
	lent->grown = 0;
}

void lent_asked(struct lent *lent, uint64_t extent, uint32_t size, bool begins)
{
	if (lent->recent)
		return;
	if (bit_get(lent->whole, extent))
		lose(lent, extent, cache_page_up(size));
	else if (begins && !bit_get(lent->in, extent))
		grow(lent, cache_page_up(size));
}

bool lent_take(struct lent *lent, uint64_t extent, uint32_t size)
{
	uint64_t memory = cache_page_up(size);

	if (lent->recent || bit_get(lent->in, extent))
		return true;
	if (lent->bytes + memory > lent->limit)
		return false;
	bit_set(lent->in, extent);
	lent->bytes += memory;
	return true;
}

void lent_served(struct lent *lent, uint64_t extent)
{
	if (lent_has(lent, extent))
		bit_set(lent->whole, extent);
}

bool lent_has(const struct lent *lent, uint64_t extent)
{
	return bit_get(lent->in, extent);
}

bool lent_is_kept(const struct lent *lent, uint64_t extent)
{
	return bit_get(lent->whole, extent);
}

const uint8_t *lent_kept(const struct lent *lent)
{
	return lent->bytes ? lent->whole : NULL;
}

uint64_t lent_bytes(const struct lent *lent)
{
	return lent->bytes;
}

uint64_t lent_limit(const struct lent *lent)
{
	return lent->recent ? 0 : lent->limit;
}
