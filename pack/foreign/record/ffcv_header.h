/* The header of FFCV's .beton, and what its fields say of a sample.
 *
 *	header   u16 version, u16 fields, u32 page, u64 samples, u64 offset of the table
 *	field    u8 type, 16 bytes of name, 1024 of arguments; as many as there are fields
 *	sample   what each field says of it, aligned as C does; as many as there are samples */
#ifndef PACK_FOREIGN_RECORD_FFCV_HEADER_H
#define PACK_FOREIGN_RECORD_FFCV_HEADER_H

#include "pack/foreign/source.h"

#define FFCV_SAMPLE_MOST 4104 /* bytes of a sample */

struct ffcv_header {
	uint64_t samples;     /* which lie in front of the table */
	uint64_t first;	      /* sample's offset */
	uint32_t sample;      /* bytes of one */
	uint64_t table;	      /* its offset, within the source */
	int64_t image, label; /* where in a sample; label -1: there is none */
	unsigned others;      /* fields that are neither */
};

/* Whether it begins as one: 1, 0, or the error of the read. */
int ffcv_header_probe(struct foreign_source *source);

/* The image and the label are the fields that the settings name, or those called "image" and
 * "label", or the first of their types. Returns 0, -EBADMSG, -EOPNOTSUPP (a field of another type,
 * or no image), -EINVAL (no label of that name), or the error of the read. */
int ffcv_header_read(struct foreign_source *source, struct ffcv_header *ret, struct err *err);

#endif
