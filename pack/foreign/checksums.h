/* Checksums of a foreign file, which has none: all of its files are read once, and their extents
 * hashed. What has checksums may be read from a copy in the disk cache. */
#pragma once

#include "pack/dataset.h"
#include "pack/foreign/settings.h"

/* The index's rows of SECTION_CHECKSUMS: 0 where there is none yet, and where the XXH3-64 is 0. */
struct foreign_sums {
	uint64_t *rows; /* on the heap */
	uint64_t count;
	uint64_t made; /* by this call */
	bool complete;
};

/* Makes the checksums that the index of a dataset lacks. The file itself is read for them, and the
 * disk cache keeps these bytes; unless `fresh`, it first drops older ones. `ret` is to be released
 * in any case, and has what was made. Returns 0, -EINTR (checking->stops() returned true), or the
 * first error. */
int foreign_sums_make(struct dataset *dataset, const struct foreign_checking *checking, bool fresh,
		      struct foreign_sums *ret, struct err *err);
void foreign_sums_release(struct foreign_sums *sums);
