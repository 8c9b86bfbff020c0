/* An entry of the tree of a pack, before it is in one: what a scan finds, and a builder takes. */
#pragma once

#include "pack/format.h"
#include <sys/types.h>
#include <time.h>

#define PACK_ROOT                                                                      \
	0u /* the number of the root; entries have those from 1 on, as they were added \
	    */

struct pack_entry {
	enum format_kind kind; /* FORMAT_DIRECTORY, _FILE, _SYMLINK or _HARDLINK */
	uint32_t parent;       /* number of the directory */
	const char *name;
	size_t name_len;
	mode_t mode; /* permission bits */
	struct timespec mtime;
	const char *target; /* of a symbolic link */
	size_t target_len;
	uint32_t link_to; /* hard link: the file it is another name of */
	uint64_t size;	  /* bytes of a file, as its source says */
};
