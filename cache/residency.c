/* The share grows again by a part of what is read outside of it, as a sender's window grows by what
 * is acknowledged (Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988): by 1 / STEP at
 * first, so that at the kernel's limit an epoch loses as much of what it reads anyway; and by twice
 * as much whenever it has grown by 1 / STEP of its maximum without a loss, so that after a moment
 * of need (a large allocation, drop_caches) it is back in some epochs. Without that, a set just too
 * large for a kernel that evicts what was used longest ago would lose a large part of itself in
 * each epoch.
 *
 * PROBES extents are probed in two epochs, one at a time, and each has as long to be asked for: one
 * that leaves early in an epoch, after it was used, may come late in the next. */
#include "cache/residency.h"
#include "base/bits.h"
#include "base/math.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STEP   64
#define PROBES 8    /* of which half must be asked for, */
#define EPOCH  1024 /* in at least as many uses */
#define HAND   8192 /* bytes that the hand moves on in one call, at most */

struct residency {
	uint64_t page, most;
	uint64_t bytes, limit;
	uint64_t pace;	/* of 1 / STEP: the part of what is read outside that it grows by */
	uint64_t grown; /* at this pace, bytes */
	bool recent;
	uint64_t set_bytes;
	uint64_t epoch;		 /* uses, no fewer than in two epochs */
	uint64_t uses;		 /* since the last probe */
	uint64_t hand;		 /* the byte of `in` where the next probe is looked for */
	uint64_t probes[PROBES]; /* extents; UINT64_MAX: none, or it was asked for */
	unsigned turn;		 /* the probe to judge and replace next */
	uint8_t silent;		 /* a bit for each of the last probes: nobody asked */
	uint8_t *in, *whole;	 /* sets of extents: in the share; and served in full since */
};

static uint64_t memory_of(const struct residency *residency, uint32_t size)
{
	return (size + residency->page - 1) / residency->page * residency->page;
}

static void begin_share(struct residency *residency)
{
	residency->bytes = 0;
	residency->limit = residency->most;
	residency->pace = 1;
	residency->grown = 0;
	residency->silent = 0;
	memset(residency->probes, 0xff, sizeof(residency->probes));
	memset(residency->in, 0, 2 * residency->set_bytes);
}

int residency_new(uint64_t extents, uint64_t most, uint64_t page, struct residency **ret)
{
	struct residency *residency = calloc(1, sizeof(*residency));

	if (!residency)
		return -ENOMEM;
	residency->page = page;
	residency->most = most;
	residency->recent = most == RESIDENCY_ALL;
	residency->epoch = max(2 * extents, EPOCH);
	residency->set_bytes = extents / 8 + 1;
	residency->in = calloc(2, residency->set_bytes);
	if (!residency->in) {
		free(residency);
		return -ENOMEM;
	}
	residency->whole = residency->in + residency->set_bytes;
	begin_share(residency);
	*ret = residency;
	return 0;
}

void residency_free(struct residency *residency)
{
	if (!residency)
		return;
	free(residency->in);
	free(residency);
}

void residency_recent(struct residency *residency, bool recent)
{
	recent = residency->most > 0 && (recent || residency->most == RESIDENCY_ALL);
	if (residency->recent == recent)
		return;
	residency->recent = recent;
	begin_share(residency);
}

bool residency_is_recent(const struct residency *residency)
{
	return residency->recent;
}

static void forget(struct residency *residency, uint64_t extent, uint64_t memory)
{
	bit_clear(residency->in, extent);
	bit_clear(residency->whole, extent);
	residency->bytes -= memory;
}

static void grow(struct residency *residency, uint64_t memory)
{
	uint64_t step = min(memory * residency->pace / STEP, residency->most - residency->limit);

	residency->limit += step;
	residency->grown += step;
	if (residency->grown < residency->most / STEP || residency->pace == STEP)
		return;
	residency->pace *= 2;
	residency->grown = 0;
}

/* --- probes ---------------------------------------------------------------------------------- */

/* The next extent of the share from the hand on, in a part of the set. */
static bool find_probe(struct residency *residency, uint64_t *ret)
{
	for (uint64_t i = 0; i < HAND && i < residency->set_bytes; i++) {
		uint64_t at = residency->hand++ % residency->set_bytes;

		if (residency->in[at]) {
			*ret = 8 * at + (unsigned)__builtin_ctz(residency->in[at]);
			return true;
		}
	}
	return false;
}

bool residency_probe(struct residency *residency, uint64_t *ret)
{
	uint64_t *probe = &residency->probes[residency->turn % PROBES];

	if (residency->recent || residency->bytes == 0 ||
	    ++residency->uses <= residency->epoch / PROBES || !find_probe(residency, ret))
		return false;
	/* The one before in this place has had its time. */
	residency->silent = (uint8_t)(residency->silent << 1 | (*probe != UINT64_MAX));
	if (__builtin_popcount(residency->silent) > PROBES / 2) {
		begin_share(residency);
		return false;
	}
	residency->uses = 0;
	residency->turn++;
	*probe = *ret;
	return true;
}

void residency_release(struct residency *residency, uint64_t extent, uint32_t size)
{
	forget(residency, extent, memory_of(residency, size));
}

/* --- the share ------------------------------------------------------------------------------- */

void residency_asked(struct residency *residency, uint64_t extent, uint32_t size, bool begins)
{
	uint64_t memory = memory_of(residency, size);

	if (residency->recent || residency->most == 0)
		return;
	for (unsigned i = 0; i < PROBES; i++)
		if (residency->probes[i] == extent)
			residency->probes[i] = UINT64_MAX;
	if (bit_get(residency->whole, extent)) {
		forget(residency, extent, memory);
		residency->limit -= memory;
		residency->pace = 1;
		residency->grown = 0;
	} else if (begins && !bit_get(residency->in, extent)) {
		grow(residency, memory);
	}
}

bool residency_take(struct residency *residency, uint64_t extent, uint32_t size)
{
	uint64_t memory = memory_of(residency, size);

	if (residency->recent || bit_get(residency->in, extent))
		return true;
	if (residency->bytes + memory > residency->limit)
		return false;
	bit_set(residency->in, extent);
	residency->bytes += memory;
	return true;
}

void residency_served(struct residency *residency, uint64_t extent)
{
	if (residency_has(residency, extent))
		bit_set(residency->whole, extent);
}

void residency_keep(struct residency *residency, uint64_t extent, bool kept)
{
	if (kept)
		bit_set(residency->whole, extent);
	else
		bit_clear(residency->whole, extent);
}

bool residency_has(const struct residency *residency, uint64_t extent)
{
	return bit_get(residency->in, extent);
}

bool residency_is_kept(const struct residency *residency, uint64_t extent)
{
	return bit_get(residency->whole, extent);
}

const uint8_t *residency_kept(const struct residency *residency)
{
	return residency->bytes ? residency->whole : NULL;
}

uint64_t residency_bytes(const struct residency *residency)
{
	return residency->bytes;
}

uint64_t residency_limit(const struct residency *residency)
{
	return residency->recent ? 0 : residency->limit;
}
