/* An image and its label, as a value of an LMDB has them in one of Python's encodings: pickle
 * (pack/foreign/encoding/pickle.h), pyarrow.serialize() or msgpack. What is read are the few bytes
 * around the image, and not the image. */
#pragma once

#include "pack/foreign/encoding/pickle.h"
#include "pack/foreign/tree.h"

#define SAMPLE_SHAPE 3

struct sample {
	bool bytes;	       /* the next two are set */
	uint64_t offset, size; /* of the image in the file */
	unsigned dimensions;   /* of the array that it is; 0: plain bytes */
	uint64_t shape[SAMPLE_SHAPE];
	int64_t label; /* FOREIGN_NO_LABEL: none */

	/* Text lives until the next pickle is read. */
	struct foreign_text class; /* a label that is a text */
	struct foreign_text path;  /* of the file */
	bool dict;		   /* they are values of one, */
	bool others;		   /* which has more than these */
};

enum sample_encoding { SAMPLE_UNKNOWN, SAMPLE_PICKLE, SAMPLE_ARROW, SAMPLE_MSGPACK };

/* By the first bytes of a value; 16 are enough. */
enum sample_encoding sample_encoding(const uint8_t *head, size_t len);

/* Reads the value that fills [offset, offset + len). `pickle` is what pickles are read with.
 * Returns 0; -EOPNOTSUPP: it is no image, or one with more than a label, or in an encoding that is
 * not read; -EBADMSG: damaged; or the error of a read. err says what it is instead. */
int sample_read(struct pickle *pickle, struct foreign_source *source, uint64_t offset, uint64_t len,
		struct sample *ret, struct err *err);

/* The same of one encoding, into a sample that is empty but for its label, FOREIGN_NO_LABEL. */
int sample_from_pickle(struct pickle *pickle, struct foreign_source *source, uint64_t offset,
		       uint64_t len, struct sample *ret, struct err *err);
int arrow_read(struct foreign_source *source, uint64_t offset, uint64_t len, struct sample *ret,
	       struct err *err);
int msgpack_read(struct foreign_source *source, uint64_t offset, uint64_t len, struct sample *ret,
		 struct err *err);

/* For readers: the next value. First the image, then the label, and no more; a text is the path of
 * the file, if it ends as those of images do, or else the label. Return 0 or -EOPNOTSUPP. */
int sample_add_bytes(struct sample *sample, uint64_t offset, uint64_t size, struct err *err);
/* `shape`: of uint8_t. Also -EBADMSG: it has more or fewer bytes. */
int sample_add_array(struct sample *sample, uint64_t offset, uint64_t size, unsigned dimensions,
		     const uint64_t *shape, struct err *err);
int sample_add_number(struct sample *sample, int64_t number, struct err *err);
int sample_add_text(struct sample *sample, struct foreign_text text, struct err *err);
int sample_add_other(const char *kind, struct err *err);

/* Whether an array is pixels as OpenCV has them, and not the bytes of an image file. */
bool sample_pixels(const struct sample *sample, struct foreign_pixels *ret);
