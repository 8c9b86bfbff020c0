/* Headers of an HTTP answer, and what those about ranges mean. */
#ifndef REMOTE_HEADER_H
#define REMOTE_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The value of a header, without blanks around it, in `buf`. `headers` are lines as they came, that
 * end in \n or \r\n; names are the same in upper and lower case; of repeated ones the last counts.
 * Returns false where there is none, or none that fits. */
bool header_find(const char *headers, const char *name, char *buf, size_t size);

/* Of "bytes 0-65535/1234567". */
struct content_range {
	bool none;	      /* "bytes *", then the total: what was asked for is beyond the end */
	uint64_t first, last; /* bytes */
	uint64_t total;	      /* of the object */
};

/* Returns false where this is no range of bytes, one that cannot be, or without a total. */
bool content_range_parse(const char *value, struct content_range *ret);

#endif
