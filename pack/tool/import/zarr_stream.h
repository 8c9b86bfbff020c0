/* The images of the arrays below a folder that zarr or N5 wrote: chunks that are image files.
 *
 * Arrays come sorted by path, chunks by number. An array of integers beside one, by a usual name
 * and of the same length, has its labels: an image is then GROUP/CLASS/NUMBER, else ARRAY/NUMBER.
 * One thread. */
#ifndef PACK_TOOL_IMPORT_ZARR_STREAM_H
#define PACK_TOOL_IMPORT_ZARR_STREAM_H

#include "pack/foreign/foreign.h"
#include "pack/tool/import/tar.h"

struct zarr_stream;

/* Looks through the folder, which stays the caller's, as the settings do. `shown` is its name, for
 * what is told. Returns 0; -ENOMSG (it is another kind of folder, or holds no image; err may have a
 * sentence about a file that is called as one of zarr's); or, with a sentence, what zarr_tree.h,
 * zarr_chunks.h and name_tree.h say. */
int zarr_stream_new(int root, const struct foreign_settings *settings, const char *shown,
		    struct zarr_stream **ret, struct err *err);
void zarr_stream_free(struct zarr_stream *stream); /* NULL is fine */

/* The next image, or a TAR_UNFIT with the path of a chunk that is none; strings live until the next
 * call. At the end tells what was left out. Returns 0, 1 at the end, or a failure. */
int zarr_stream_next(struct zarr_stream *stream, struct tar_entry *ret, struct err *err);

/* Fills buf with the next bytes of the image. Returns 0; -ESTALE (the chunk has changed since
 * zarr_stream_next()); or -errno. */
int zarr_stream_read(struct zarr_stream *stream, void *buf, size_t len, struct err *err);

#endif
