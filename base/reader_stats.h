/* What a reader counts. */
#pragma once

#include <stdint.h>

/* Of reader_read() and reader_read_now(), since reader_prepare(). */
struct reader_counts {
	uint64_t reads, bytes, errors;
};

/* What a remote reader did since it was opened. */
struct reader_stats {
	uint64_t requests, bytes, retries, refused; /* refused: asked to come later */
	uint64_t listed;			    /* requests of the listing, beside these */
	uint64_t under_way, first_byte_p50_us, first_byte_p99_us;
};
