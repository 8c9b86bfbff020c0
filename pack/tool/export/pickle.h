/* Three Python values as pickle.dumps() writes them with protocol 4, byte for byte. */
#pragma once

#include "base/buf.h"
#include <stdint.h>

#define PICKLE_BYTES_MAX UINT32_MAX /* of the bytes in a sample */

/* Appends what comes before and after the bytes in the tuple (bytes, int); there are `size` bytes.
 * Returns 0 or -ENOMEM. */
int pickle_sample(uint64_t size, int32_t label, struct buf *head, struct buf *tail);

/* An int below 2^31. Same rules. */
int pickle_int(uint32_t value, struct buf *to);

/* The list [b"0", b"1", ...] of `count` numbers. Same rules. */
int pickle_keys(uint64_t count, struct buf *to);
