/* How long things took: counts in buckets, four to an octave. A quantile is the middle of its
 * bucket, and right within 13 %. Lock-free; a snapshot taken while others add may miss some. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define HISTOGRAM_BUCKETS 160 /* up to 2^40 */

struct histogram {
	_Atomic uint64_t counts[HISTOGRAM_BUCKETS];
	_Atomic uint64_t total; /* sum of the values */
};

void histogram_add(struct histogram *histogram, uint64_t value);
uint64_t histogram_count(const struct histogram *histogram);
/* About the value that `share` (0..1) of the values do not exceed; 0 if there are no values. */
uint64_t histogram_quantile(const struct histogram *histogram, double share);
