/* The metadata of an array whose chunks are files in folders:
 *
 *	zarr 2	.zarray			chunks at 0.1.2, or 0/1/2
 *	zarr 3	zarr.json		c/0/1/2, or as zarr 2
 *	N5	attributes.json		2/1/0, each with a header in front
 *
 * Pure: any bytes give an answer. */
#ifndef PACK_TOOL_IMPORT_ZARR_META_H
#define PACK_TOOL_IMPORT_ZARR_META_H

#include "base/err.h"
#include "pack/foreign/codec.h"
#include <stdbool.h>

#define ZARR_RANK 16 /* dimensions, at most */

enum zarr_version { ZARR_2, ZARR_3, ZARR_N5, ZARR_VERSIONS };

/* What the bytes of a chunk are. */
enum zarr_chunks { ZARR_VALUES, ZARR_IMAGE, ZARR_OTHER };

/* The slowest dimension comes first, of N5 as well. */
struct zarr_array {
	enum zarr_version version;
	bool below_c; /* chunks lie in a folder "c" */
	bool nested;  /* with a folder for each dimension but the last */
	unsigned rank;
	uint64_t shape[ZARR_RANK], chunk[ZARR_RANK]; /* all chunks together fit 64 bits */
	enum zarr_chunks chunks;
	enum codec codec; /* of values */
	unsigned width;	  /* bytes of an integer: 1, 2, 4 or 8; 0: the values are others */
	bool is_signed, is_big;
	int64_t fill; /* the values of a chunk that is not there */
};

enum zarr_node { ZARR_NOTHING, ZARR_GROUP, ZARR_ARRAY };

/* The name of the file with the metadata. */
const char *zarr_meta_name(enum zarr_version version);

/* Returns an enum zarr_node; -EBADMSG, or -EOPNOTSUPP (the images are not whole files), each with a
 * sentence; or -ENOMEM. ZARR_NOTHING: the file belongs to something else. */
int zarr_meta_read(enum zarr_version version, const char *text, size_t len, struct zarr_array *ret,
		   struct err *err);

/* How many chunks there are in a dimension. */
static inline uint64_t zarr_chunks_along(const struct zarr_array *array, unsigned dimension)
{
	uint64_t shape = array->shape[dimension], chunk = array->chunk[dimension];

	return shape / chunk + (shape % chunk != 0);
}

#endif
