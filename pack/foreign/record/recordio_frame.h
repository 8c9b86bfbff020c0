/* RecordIO's frames (dmlc-core's recordio.h):
 *
 *	u32 magic | u32 part << 29 | length | bytes, padded with zeros to a multiple of 4
 *
 * A record is in parts where the magic number is among its bytes, and is left out between them. */
#ifndef PACK_FOREIGN_RECORD_RECORDIO_FRAME_H
#define PACK_FOREIGN_RECORD_RECORDIO_FRAME_H

#include "pack/foreign/source.h"
#include <stdbool.h>

enum recordio_part { RECORDIO_WHOLE, RECORDIO_FIRST, RECORDIO_NEXT, RECORDIO_LAST };

struct recordio_frame {
	uint64_t offset; /* of the bytes */
	uint32_t length;
	enum recordio_part part;
	uint64_t end; /* where the next one begins */
};

/* Whether the file begins with a frame: 1, 0, or the error of the read. */
int recordio_frame_probe(struct foreign_source *source);

/* The frame that begins at frame->end; `within` a record, one that is not its first. Returns 0;
 * -EBADMSG (no frame, truncated, or parts out of order); or the error of the read. */
int recordio_frame_next(struct foreign_source *source, bool within, struct recordio_frame *frame,
			struct err *err);

#endif
