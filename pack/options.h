/* What a pack was made with: lines "name=value\n", of which the last may lack its newline. */
#pragma once

#include "base/buf.h"

struct option_line {
	const char *text; /* not NUL-ended */
	size_t len;	  /* without the newline */
};

/* Takes the next line from *at on; false: there is none. */
bool options_next(const char **at, const char *end, struct option_line *ret);

/* The value of the first line of this name; NULL: there is none. */
const char *options_find(const char *options, size_t len, const char *name, size_t *ret_len);

/* Appends what a value says in which buf_add_escaped() has escaped "\n\\". 0 or -ENOMEM. */
int option_unescape(const char *value, size_t len, struct buf *ret);

/* Whether the lines have this one. */
bool options_have(const char *options, size_t len, const struct option_line *line);

/* Whether a line says that files of the pack may have other bytes than those it was made from. */
bool option_changes_bytes(const struct option_line *line);
/* Whether a line says which files there are or what they hold. The others, as that of the base of a
 * delta, are of one pack alone. */
bool option_is_of_content(const struct option_line *line);

/* Appends the lines that say what a dataset was made with: all, but where `unchecked` says that
 * some are of an index of another format. 0 or -ENOMEM. */
int options_made_with(const char *options, size_t len, bool unchecked, struct buf *ret);
