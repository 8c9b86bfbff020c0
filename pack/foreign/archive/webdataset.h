/* Samples of WebDataset as folders of classes, CLASS/KEY.jpg: what becomes of the members of a tar,
 * which come one after the other.
 *
 * A sample is what follows each other and has one key: the path up to the first dot of its last
 * part. Its class is what the member KEY.cls says: a label, as "17", or a name. Without that member
 * it is the folder of the key. A folder of the key is one in the class, too: keys are different,
 * the last parts of them need not be.
 *
 * Only images become files. What else there is (.json, .txt, masks as .npy) is noted, and left out,
 * and so are members named __x__, of which WebDataset says that they are no samples. */
#pragma once

#include "base/buf.h"
#include "pack/foreign/archive/archive_tree.h"
#include "pack/foreign/tree.h"

#define WEBDATASET_REASONS 5 /* to leave members out, or to make up a class */

/* All zero but for the first four, and for `label`. */
struct webdataset {
	struct foreign_tree *tree; /* gets the images */
	/* Reads the first bytes of the current member. As foreign_get(). */
	int (*read)(void *context, const struct archive_member *member, size_t len,
		    const uint8_t **ret, struct err *err);
	void *context;
	/* Of the members that became images: one that comes again replaces the one before it, as
	 * where the tar is unpacked. */
	struct archive_places *places;

	/* The sample in hand: */
	struct buf key;
	struct buf images; /* struct sample_image */
	struct buf names;  /* of them: KEY.SUFFIX */
	struct buf class;  /* a name */
	int64_t label;	   /* FOREIGN_NO_LABEL: none */
	unsigned looked;   /* members that webdataset_look() has seen */
	uint64_t left_out[WEBDATASET_REASONS];
};

void webdataset_release(struct webdataset *w);

/* Takes a member. Returns 0; one of these; -EBADMSG with a sentence; -ENOMEM; or what reading it
 * gave. */
#define WEBDATASET_IMAGE 1 /* it is an image of the sample */
#define WEBDATASET_NEXT	 2 /* not taken: it begins the next sample, once this one is ended */
int webdataset_take(struct webdataset *w, const struct archive_member *member, struct err *err);

/* Ends the sample in hand, if there is one: its images go to the tree, in their order. As
 * foreign_add(). */
int webdataset_end(struct webdataset *w, struct err *err);

/* Notes what was left out of all samples. 0 or -ENOMEM. */
int webdataset_note(const struct webdataset *w);

/* Whether the first sample has a class. Takes a struct of its own. Returns one of these; 0 as long
 * as it is not known; or -ENOMEM. */
#define WEBDATASET_CLASS    1
#define WEBDATASET_NO_CLASS 2
int webdataset_look(struct webdataset *w, const struct archive_member *member);
