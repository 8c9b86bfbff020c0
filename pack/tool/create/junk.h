/* What nobody means to pack: as a class or an image (foreign_text_is_junk()), or at all, as it is
 * what foldfs keeps beside containers and unfinished packs. */
#pragma once

#include "pack/write/builder.h"

struct junk {
	uint64_t folders, files;
	uint32_t first; /* entry of one; only if there is any */
	uint64_t ours;	/* files of foldfs: index files and journals */
	uint32_t first_ours;
};

/* Looks through entries 1 to `entries` - 1. */
struct junk junk_find(const struct builder *builder, uint64_t entries);
