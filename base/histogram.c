#include "base/histogram.h"

/* 0 to 3 have a bucket each. From there on each octave has four, by the two bits below its highest
 * one. */
static unsigned bucket_of(uint64_t value)
{
	unsigned bit, bucket;

	if (value < 4)
		return (unsigned)value;
	bit = 63u - (unsigned)__builtin_clzll(value);
	bucket = 4 * (bit - 1) + (unsigned)(value >> (bit - 2) & 3);
	return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

void histogram_add(struct histogram *histogram, uint64_t value)
{
	atomic_fetch_add_explicit(&histogram->counts[bucket_of(value)], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&histogram->total, value, memory_order_relaxed);
}

uint64_t histogram_count(const struct histogram *histogram)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		count += atomic_load_explicit(&histogram->counts[i], memory_order_relaxed);
	return count;
}

uint64_t histogram_quantile(const struct histogram *histogram, double share)
{
	double wanted = share * (double)histogram_count(histogram);
	uint64_t count = 0, width;

	for (unsigned i = 0; wanted > 0 && i < HISTOGRAM_BUCKETS; i++) {
		count += atomic_load_explicit(&histogram->counts[i], memory_order_relaxed);
		if ((double)count < wanted)
			continue;
		if (i < 4)
			return i;
		/* A bucket begins at 4 to 7 times its width, so that no value of it is further off
		 * than an eighth. */
		width = (uint64_t)1 << (i / 4 - 1);
		return (4 + i % 4) * width + width / 2;
	}
	return 0;
}
