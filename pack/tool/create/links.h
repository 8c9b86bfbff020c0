/* Where the symbolic links of a pack that is being made lead.
 *
 * A link is kept as its text, and only the text counts here. A link with an absolute target, or
 * with more `..` than there are folders above it, leads out of the pack. Following it in a mount
 * reads the loose file, or nothing on another machine. Pure, except for the builder that it reads.
 */
#pragma once

#include "pack/write/builder.h"

enum links_kind {
	LINKS_LEAVING,	/* out of the pack */
	LINKS_DANGLING, /* to an entry that was dropped */
};

/* Calls `found` for each such link among the first `entries` of the builder, with its path and its
 * text, or the path that was dropped. 0, -ENOMEM, or what `found` returned to stop. */
int links_find(const struct builder *builder, uint64_t entries, enum links_kind kind,
	       int (*found)(void *context, const char *path, const char *target), void *context);
