/* What nobody means to pack: as a class or an image (foreign_text_is_junk()), or at all, as it is
 * what foldfs keeps beside containers and unfinished packs; or as one file, as it has the images in
 * it. */
#pragma once

#include "pack/write/builder.h"

struct junk {
	uint64_t folders, files;
	uint32_t first; /* entry of one; only if there is any */
	uint64_t ours;	/* files of foldfs: index files and journals */
	uint32_t first_ours;
	uint64_t containers, others; /* files that have the name of one; all others */
	uint32_t first_container;
};

/* Looks through entries 1 to `entries` - 1. */
struct junk junk_find(const struct builder *builder, uint64_t entries);
