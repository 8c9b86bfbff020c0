/* Where the symbolic links of a pack that is being made lead.
 *
 * A link is kept as its text, which is all that counts here: one with an absolute target, or with
 * more `..` than there are folders above it, leads out of the pack, so that
 * following it in a mount reads the loose file, or nothing on another machine. Pure, but for the
 * builder it reads. */
#ifndef PACK_TOOL_CREATE_LINKS_H
#define PACK_TOOL_CREATE_LINKS_H

#include "pack/write/builder.h"

struct links {
	uint64_t leaving;	 /* links that lead out */
	struct buf path, target; /* of the first that leads out; NUL-ended */
};

void links_release(struct links *links);

/* Looks at the links among the builder's first `entries`. 0 or -ENOMEM. */
int links_look(const struct builder *builder, uint64_t entries, struct links *ret);

/* Calls `found` for each link to an entry that was dropped, with the paths of both. 0, -ENOMEM, or
 * what `found` returned to end it. */
int links_find_dangling(const struct builder *builder, uint64_t entries,
			int (*found)(void *context, const char *path, const char *target),
			void *context);

/* Sets ret to the path that a link at `path` leads to: 0, -EXDEV (out of the pack) or -ENOMEM. */
int links_resolve(const char *path, const char *target, struct buf *ret);

#endif
