/* Numbers of numpy as they lie in memory, which its scalars are pickled and packed as. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Reads a little-endian integer of this type, as "i8" or "u1". False: it is another type, or of
 * another size, or more than INT64_MAX. */
bool numpy_integer(const char *type, const void *bytes, uint64_t size, int64_t *ret);
