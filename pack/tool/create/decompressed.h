/* Containers of other formats that are compressed as a whole, such as x.tfrecord.gz. While this is
 * in place, such a file is opened decompressed, from an unnamed file beside the pack. */
#ifndef PACK_TOOL_CREATE_DECOMPRESSED_H
#define PACK_TOOL_CREATE_DECOMPRESSED_H

#include "pack/foreign/foreign.h"

/* All of it stays the caller's. */
struct decompressed {
	const char *pack;
	struct foreign_settings *settings, before;
};

/* Replaces settings->open until decompressed_end(). Readers that were opened in between stay valid.
 */
void decompressed_begin(struct decompressed *d, const char *pack,
			struct foreign_settings *settings);
void decompressed_end(struct decompressed *d);

#endif
