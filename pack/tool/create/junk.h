/* What nobody means as a class or an image (foreign_text_is_junk()), in what is to be packed. */
#ifndef PACK_TOOL_CREATE_JUNK_H
#define PACK_TOOL_CREATE_JUNK_H

#include "pack/write/builder.h"

struct junk {
	uint64_t folders, files;
	uint32_t first; /* entry of one; only if there is any */
};

/* Looks through entries 1 to `entries` - 1. */
struct junk junk_find(const struct builder *builder, uint64_t entries);

#endif
