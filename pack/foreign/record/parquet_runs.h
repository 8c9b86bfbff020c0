/* Numbers as Parquet has levels and indices (apache/parquet-format, Encodings.md, RLE): runs of
 * equal ones, and of packed bits. */
#pragma once

#include "base/buf.h"
#include <stdbool.h>

struct parquet_runs {
	const uint8_t *at, *end;
	unsigned width; /* bits of a number */
	uint64_t left;	/* of the run */
	bool packed;
	unsigned bit; /* the next, of packed bits */
	uint32_t value;
};

/* Copies the bytes into `copy`, which must live as long as `runs`. Returns 0 or -ENOMEM. */
int parquet_runs_begin(struct parquet_runs *runs, struct buf *copy, const uint8_t *p, uint64_t len,
		       unsigned width);
/* The next number, and how often it comes, as far as that is known without reading on: of width 0
 * it is 0 for ever. Returns 0 where there are no more. */
uint64_t parquet_runs_look(struct parquet_runs *runs, uint32_t *ret);
/* Passes over this many of them. */
void parquet_runs_pass(struct parquet_runs *runs, uint64_t count);
