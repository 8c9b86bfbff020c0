/* Compressed pages of a file, shown unpacked: a reader that unpacks a page when bytes of it are
 * read, and keeps the last few.
 *
 * The pages lie in a space of their own, as the images of foreign_pixels_reader() do, and their
 * table is the same: a dataset has pictures or pages. */
#ifndef PACK_FOREIGN_UNPACKED_H
#define PACK_FOREIGN_UNPACKED_H

#include "pack/foreign/codec.h"
#include "pack/foreign/pixels.h"

struct foreign_packed {
	uint64_t offset; /* in the source */
	uint32_t packed, unpacked;
	enum codec codec;
	const uint8_t *bytes; /* unpacked */
};

/* The row of a page that begins at `start`. */
struct foreign_picture foreign_packed_row(const struct foreign_packed *page, uint64_t start);
/* Whether a row is a page's. */
bool foreign_is_packed(const struct foreign_picture *row);

/* As foreign_pixels_reader(). Any thread may read. */
int foreign_unpacked_reader(struct reader *source, const struct foreign_picture *rows, size_t count,
			    struct reader **ret);

#endif
