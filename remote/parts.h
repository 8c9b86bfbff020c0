/* A request that is read in parts, which are requests themselves. */
#pragma once

#include "base/reader.h"

#define PARTS_MOST 32

/* `ends`: where each part ends, from the offset of the request on; all but the last at whole pages.
 * Each part is given to `submit`, is ahead as long as the request is, and is settled with it.
 * Returns 0, and the request is done once all parts are; or -ENOMEM. */
int parts_submit(struct reader *reader, struct reader_request *request, const uint64_t *ends,
		 unsigned count,
		 void (*submit)(struct reader *reader, struct reader_request *part));
