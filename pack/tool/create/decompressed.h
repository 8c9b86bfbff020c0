/* Containers of other formats that are compressed as a whole, as x.tfrecord.gz: while this is open,
 * they are opened decompressed, from an unnamed file beside the pack. */
#ifndef PACK_TOOL_CREATE_DECOMPRESSED_H
#define PACK_TOOL_CREATE_DECOMPRESSED_H

#include "pack/foreign/foreign.h"

/* All of it stays the caller's. */
struct decompressed {
	const char *pack;
	struct foreign_settings *settings, before;
};

/* Takes the place of settings->open, up to decompressed_end(). What was opened stays so. */
void decompressed_begin(struct decompressed *d, const char *pack,
			struct foreign_settings *settings);
void decompressed_end(struct decompressed *d);

#endif
