#include "cache/order/batches.h"
#include "base/bits.h"
#include <errno.h>
#include <stdlib.h>

#define FIRST	1024 /* places before the first comparison; each later one waits for half more */
#define PERIODS 4    /* equal ones that are needed */
#define MOST	(1u << 17) /* places without a period, after which all are read here */

/* A share of `share` places begins at each multiple of `length`, plus `at`. */
struct period {
	uint32_t length, share, at;
};

struct batches {
	uint32_t n, from, top; /* the places compared: from the first, to the last one seen */
	uint32_t count, next;  /* places seen, and how many there will be at the next comparison */
	uint8_t *seen;	       /* a bit for each place */
	struct period last;    /* that was found last; length 0: none */
	bool agrees;	       /* the comparison before had found the same */
};

int batches_new(uint32_t n, uint32_t from, struct batches **ret)
{
	struct batches *batches = calloc(1, sizeof(*batches));

	if (!batches)
		return -ENOMEM;
	*batches = (struct batches){.n = n, .from = from, .top = from, .next = FIRST};
	batches->seen = calloc(1, n / 8 + 1);
	if (!batches->seen) {
		free(batches);
		return -ENOMEM;
	}
	*ret = batches;
	return 0;
}

void batches_free(struct batches *batches)
{
	if (!batches)
		return;
	free(batches->seen);
	free(batches);
}

/* Whether all whole shares between `from` and `to` have one length and one distance, in *ret, and
 * the last one is not longer ago than that. *ret_count: the periods found. */
static bool find_period(const struct batches *batches, uint32_t to, struct period *ret,
			unsigned *ret_count)
{
	uint32_t begun = 0; /* the last share; 0: none yet */

	for (uint32_t place = batches->from + 1; place < to; place++) {
		bool is = bit_get(batches->seen, place);
		uint32_t *length = is ? &ret->length : &ret->share;

		if (is == bit_get(batches->seen, place - 1))
			continue;
		if (begun && *length && place - begun != *length)
			return false;
		if (begun)
			*length = place - begun;
		*ret_count += is && begun;
		if (is)
			begun = place;
	}
	if (*ret_count)
		ret->at = begun % ret->length;
	return *ret_count == 0 || to - begun <= ret->length;
}

/* The next comparison begins after an irregular place: a file that nobody asked for. */
static void compare(struct batches *batches)
{
	uint32_t to = batches->from + (batches->top - batches->from) / 2;
	struct period found = {0}, last = batches->last;
	unsigned count = 0;

	batches->next += batches->next / 2;
	if (!find_period(batches, to, &found, &count)) {
		batches->from = to;
		batches->last = (struct period){0};
	} else if (count >= PERIODS) {
		batches->last = found;
		batches->agrees = found.length == last.length && found.share == last.share &&
				  found.at == last.at;
	}
}

void batches_saw(struct batches *batches, uint32_t place)
{
	if (batches->agrees || batches->count == MOST || place < batches->from ||
	    bit_set(batches->seen, place))
		return;
	if (place > batches->top)
		batches->top = place;
	if (++batches->count == batches->next)
		compare(batches);
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* The period is cut into the longest equal pieces of which the share is a whole number. */
bool batches_part(const struct batches *batches, struct sampler_part *ret)
{
	const struct period *last = &batches->last;
	uint32_t unit = common_divisor(common_divisor(last->length, last->share), last->at);

	if (!batches->agrees || last->share / unit >= SAMPLER_RANKS)
		return false;
	*ret = (struct sampler_part){.world = last->length / unit,
				     .unit = unit,
				     .first = last->at / unit,
				     .ranks = ((uint64_t)1 << last->share / unit) - 1};
	return true;
}
