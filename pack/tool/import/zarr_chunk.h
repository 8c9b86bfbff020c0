/* A chunk of an array, which is a file. Chunks have numbers, with the last dimension fastest. */
#ifndef PACK_TOOL_IMPORT_ZARR_CHUNK_H
#define PACK_TOOL_IMPORT_ZARR_CHUNK_H

#include "base/buf.h"
#include "pack/tool/import/zarr_meta.h"
#include <sys/stat.h>

/* The dimension whose index is the i-th in a path. */
static inline unsigned zarr_dimension(const struct zarr_array *array, unsigned i)
{
	return array->version == ZARR_N5 ? array->rank - 1 - i : i;
}

/* Sets the path of a chunk of the array that lies in `folder`, which may be "". Returns 0 or
 * -ENOMEM. */
int zarr_chunk_path(const char *folder, const struct zarr_array *array, uint64_t number,
		    struct buf *ret);

/* Appends the whole file at a path below the folder; a link is not followed. Returns 0, -EFBIG (it
 * has over `most` bytes), -EINVAL (it is no regular file), -ESTALE with a sentence (it changed
 * meanwhile) or -errno. */
int zarr_read_file(int folder, const char *path, uint64_t most, struct buf *ret, struct err *err);

/* How many bytes stand in front of the chunk that begins with `head`, and, if there are any, how
 * many values follow, which may be less than the chunk has. Returns 0 or -EBADMSG. */
int zarr_chunk_head(const struct zarr_array *array, const uint8_t *head, size_t len,
		    size_t *ret_skip, uint64_t *ret_values);

struct zarr_image {
	int fd;		    /* closed by the next zarr_image_open() */
	struct stat st;	    /* of the chunk, when it was opened */
	size_t offset;	    /* of its first byte */
	uint64_t size;	    /* bytes from there on */
	const char *suffix; /* as ".png" */
};

/* Opens a chunk and looks at its first bytes. Returns NULL, or what is wrong with it: "is a
 * symbolic link". A link is not followed. */
const char *zarr_image_open(int folder, const struct zarr_array *array, const char *path,
			    struct zarr_image *ret);

#endif
