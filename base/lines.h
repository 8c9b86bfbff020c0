/* A list that the user gives, an item a line: names of classes and files, packs, patterns, paths.
 * All lists are read by one rule, whatever program wrote them:
 *
 *	a byte order mark of UTF-8 at the beginning is no part of the list
 *	a line ends with "\n" or "\r\n"
 *	blanks and tabs in front of an item are no part of it
 *	a line with nothing else, or that begins with #, is no item
 *	an item that itself begins with # or a blank has ./ in front
 *
 * Pure. */
#pragma once

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line, from its begin to its newline, becomes the item in it; false: there is none. `first`: it
 * is the first of the list. For lists that come in pieces. */
bool lines_item(const char **text, size_t *len, bool first);

struct lines {
	const char *at, *end;
	uint64_t line; /* of the last item, from 1 on */
};

/* The text is borrowed. Returns 0, or -EINVAL: UTF-16, or no text; err has a sentence without the
 * name of the list. */
int lines_begin(const char *text, size_t len, struct lines *ret, struct err *err);
/* The next item, within the text, not NUL-ended; false: there is none. */
bool lines_next(struct lines *lines, const char **ret, size_t *ret_len);
