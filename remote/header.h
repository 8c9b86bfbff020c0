/* The headers of HTTP: of a request, of an answer, and what the one about the range means. */
#pragma once

#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Appends the header line "Name: value", with a NUL at its end. Returns 0 or -ENOMEM. */
int header_add(struct buf *lines, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Copies the value of a header into `buf`, without blanks around it. `headers` are the lines as
 * they came, which end in \r, \n or both: neither is in a value. The case of names does not matter;
 * of repeated headers the last counts. Returns false if there is no such header, or its value does
 * not fit. */
bool header_find(const char *headers, const char *name, char *buf, size_t size);

/* The date of a header, in seconds since 1970; 0: it is none. */
uint64_t header_time(const char *date);

/* What "bytes 0-65535/1234567" says. */
struct content_range {
	uint64_t first, last; /* bytes */
	uint64_t total;	      /* of the object */
};

/* Returns false if this is not a range of bytes, an impossible one, or one without a total. */
bool content_range_parse(const char *value, struct content_range *ret);
