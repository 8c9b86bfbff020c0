/* The images of WebDataset samples (pack/foreign/archive/webdataset.h) in tars that are read once,
 * from front to back, such as compressed ones. The result is what the tar itself would be as a
 * folder of classes. The images of one sample are in memory at a time, at most SAMPLE_MOST bytes.
 *
 *	sample_stream_new -> sample_stream_begin (a tar) -> sample_stream_next -> sample_stream_read
 *
 * Labels without a line in --classes become folders of four digits, so labels over 9999 are
 * refused: how many digits all labels need is known only at the end. One thread. */
#ifndef PACK_TOOL_IMPORT_SAMPLE_STREAM_H
#define PACK_TOOL_IMPORT_SAMPLE_STREAM_H

#include "pack/foreign/foreign.h"
#include "pack/tool/import/tar.h"

#define SAMPLE_MOST ((uint64_t)TAR_LOOK_MAX)

struct sample_stream;

/* Whether the first sample of a tar, opened as TAR_LOOK, has a class: 1, 0, -EINTR or
 * -ENOMEM. */
int sample_stream_look(struct tar *tar);

/* `shown` names the source in messages; the settings outlive the stream. Returns 0, -ENOMEM, or why
 * the file of classes cannot be read. */
int sample_stream_new(const struct foreign_settings *settings, const char *shown,
		      struct sample_stream **ret, struct err *err);
void sample_stream_free(struct sample_stream *stream); /* NULL is fine */

/* Goes on with this tar, of which nothing was read. A sample does not continue in the next tar. */
void sample_stream_begin(struct sample_stream *stream, struct tar *tar);

/* The next image, as tar_next(); also -EFBIG (a sample over SAMPLE_MOST), or as foreign_add(). */
int sample_stream_next(struct sample_stream *stream, struct tar_entry *ret, struct err *err);
/* Fills buf with the next len bytes of the current image, which has that many. */
void sample_stream_read(struct sample_stream *stream, void *buf, size_t len);

/* Prints what was left out; to be called at the end of all tars. */
void sample_stream_say(struct sample_stream *stream);

#endif
