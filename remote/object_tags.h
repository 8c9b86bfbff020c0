/* What tells an object from the next one at its URL.
 *
 * Servers say it by a strong ETag, or else by the time of the last modification. Those that a URL
 * redirects to in turn, as the edges of a CDN, need not agree on an ETag. So that counts for the
 * URL that gave it, up to its query. That there is the same object at another one is known if the
 * server of the object's own URL has said so, by X-Linked-ETag, as the Hub does; otherwise by size
 * and the first TAGS_HEAD bytes, which are to be looked at first: the superblock of a pack is among
 * them.
 *
 * Not thread-safe. Pure. */
#pragma once

#include "base/digest.h"
#include "remote/header.h"

#define TAGS_TEXT 512 /* bytes of an ETag, or a date; longer ones do not count */
#define TAGS_HEAD ((size_t)20 << 10)

struct object_tags {
	char *url; /* that gave the next two; NULL: none has yet */
	char etag[TAGS_TEXT], modified[TAGS_TEXT];
	char linked[TAGS_TEXT];	      /* X-Linked-ETag; "": none */
	char head[DIGEST_DIGITS + 1]; /* of the first bytes, */
	size_t head_len;	      /* which are so many; 0: they have not been seen */
};

void object_tags_release(struct object_tags *tags);

/* Whether this URL gave the tags. */
bool object_tags_are_of(const struct object_tags *tags, const char *url);
/* An answer of this URL is of the object. Returns 0 or -ENOMEM. */
int object_tags_take(struct object_tags *tags, const char *url, const char *headers);
/* The header of a request to such a URL, if there is one. Returns 1 (it was added), 0 or -ENOMEM.
 */
int object_tags_condition(const struct object_tags *tags, header_add_fn *add, void *context);

/* The server of the object's own URL redirects. Returns whether that leads to the object for sure;
 * *ret_other: to another one. */
bool object_tags_link(struct object_tags *tags, const char *headers, bool *ret_other);

/* The first `len` bytes of the object; and whether these are they. */
void object_tags_see(struct object_tags *tags, const void *data, size_t len);
bool object_tags_match(const struct object_tags *tags, const void *data);

/* What names the object at its URL: a tag or a time; "": nothing does. */
const char *object_tags_name(const struct object_tags *tags);
