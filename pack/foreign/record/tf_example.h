/* An Example of a TFRecord: what of its fields is the image, and what names it. Not thread-safe.
 * Internal to pack/foreign/record/. */
#pragma once

#include "base/buf.h"
#include "pack/foreign/source.h"
#include "pack/foreign/text.h"

#define TF_IMAGE_KEYS "image/encoded or image" /* where no other is named */

enum tf_role { TF_IMAGE, TF_LABEL, TF_NAME, TF_SYNSET, TF_TEXT, TF_ROLES };

/* Finds the image, and what names it. */
struct tf_example {
	bool from_zero;	  /* set by the caller: a label beside a class counts from 0, not from 1; */
	bool takes_first; /* and of several numbers the first counts */
	bool is_zero;	  /* the label is 0, beside a text alone: then the file's count from 0 */
	bool is_guess;	  /* it is taken as counted from 1, beside a text alone */
	bool is_place;	  /* the label is several numbers, 0 but for one 1, and their place is it */
	bool is_list;	  /* it is several integers, and others than 0 and 1 */
	uint64_t ones, numbers;		 /* it is several numbers, 0 or 1, and not one of them 1 */
	uint64_t integers;		 /* of the label */
	bool is_odd;			 /* there is a label that is neither a number nor a name */
	bool more_labels, more_images;	 /* behind the first */
	uint64_t offset, size;		 /* of the image; size 0: there is none */
	int64_t label;			 /* from 0 on, or FOREIGN_NO_LABEL */
	struct foreign_text class, name; /* data NULL: there is none */
	struct buf texts[TF_ROLES];	 /* what these point to */
};

/* Reads the Example of `size` bytes at `offset`, by the keys of the settings or the usual ones:
 * image/encoded, image/class/label, image/filename (TF-Slim), image, label, file_name (TFDS) and a
 * few more. Of a class the synset counts, else its text; a label beside these counts from 1 on, as
 * in build_imagenet_data.py, unless one is 0. A label that is bytes is a class where the user named
 * its key, or where they can be a name, not a mask. In a set, a 0 in any file counts for all of
 * them: pack/labels_join.h. Returns 0; -EBADMSG (no Example, or damaged);
 * -EOPNOTSUPP (an image of numbers); -ENOMEM; or the error of the read. */
int tf_example_read(struct tf_example *example, struct foreign_source *source, uint64_t offset,
		    uint64_t size, struct err *err);
/* Appends the keys of its first fields that have no other use, for a message. As above. */
int tf_example_keys(struct foreign_source *source, uint64_t offset, uint64_t size, struct buf *ret,
		    struct err *err);
