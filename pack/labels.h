/* The labels of a dataset: which folder has the images of which label. A pack, or the index of a
 * foreign file, keeps them as a line of its options:
 *
 *	labels=LABEL:FOLDER//LABEL:FOLDER...
 *
 * A folder is a path from the root; one that is not in the tree is that of a label without an
 * image. Only what has labels of its own has the line: of a plain folder, the labels are those that
 * ImageFolder gives.
 *
 * Not thread-safe. */
#pragma once

#include "pack/dataset.h"

#define LABELS_EMPTY_MOST (1 << 20) /* folders that --empty-classes makes up */

struct label {
	int64_t label;
	uint64_t folder; /* in the text */
	uint32_t len;
};

struct labels {
	struct buf rows; /* struct label */
	struct buf text;
};

void labels_release(struct labels *labels);

static inline size_t labels_count(const struct labels *labels)
{
	return BUF_COUNT(&labels->rows, struct label);
}

static inline const struct label *labels_row(const struct labels *labels, size_t i)
{
	return BUF_ITEMS(&labels->rows, const struct label) + i;
}

/* The folder of a row, not NUL-ended; lives until the next is added. */
static inline const char *labels_folder(const struct labels *labels, size_t i)
{
	return labels->text.data + labels_row(labels, i)->folder;
}

/* A folder may be added more than once. Returns 0 or -ENOMEM. */
int labels_add(struct labels *labels, int64_t label, const char *folder, size_t len);
/* Adds those of a line, without its name and end, of a dataset that goes below the folder `below`;
 * "" is the root. What is no label is passed over. The same. */
int labels_read(struct labels *labels, const char *text, size_t len, const char *below);
/* Adds those of a dataset. The same. */
int labels_add_dataset(struct labels *labels, const struct dataset *dataset, const char *below);
/* By label, each folder once. */
void labels_sort(struct labels *labels);
/* Adds those between 0 and the greatest of sorted labels that have no folder, beside that of the
 * next one: add() adds a label, in a folder with a path (as "a/" or "") that it may add to. Returns
 * 0; -EINVAL: more than LABELS_EMPTY_MOST; or what add() returned. */
int labels_add_gaps(struct labels *labels,
		    int (*add)(const void *context, int64_t label, struct buf *above,
			       struct labels *labels),
		    const void *context, struct err *err);
/* Appends the line, sorted; nothing where there is no label. The same. */
int labels_write(struct labels *labels, struct buf *ret);

/* How labels were counted in a file that does not say so. */
enum labels_counted {
	LABELS_AS_GIVEN,
	LABELS_FROM_ONE, /* as none was 0 */
	LABELS_FROM_ZERO /* as one was 0 */
};

/* What of a label of several numbers counts in a file. */
enum labels_several {
	LABELS_SINGLE, /* there is none */
	LABELS_PLACES, /* the place of the only 1, as all others are 0 in all records */
	LABELS_FIRSTS  /* the first, elsewhere */
};

/* What the folders of classes are called in a foreign file: "folders=numbers asked 4 one single
 * list labels".
 */
struct labels_style {
	bool numbered; /* by label and name, else by names; a class without a name has its label */
	bool asked;    /* the user said so */
	bool listed;   /* the names are those of a list by labels, which has all of them */
	bool only_names; /* a class has no label */
	unsigned width;	 /* digits of a label */
	enum labels_counted counted;
	enum labels_several several;
};

/* Appends the line. */
int labels_style_write(const struct labels_style *style, struct buf *ret);
/* False where a dataset has no such line. */
bool labels_style_read(const struct dataset *dataset, struct labels_style *ret);
/* Where the last name in a folder begins, and where in this the name of its class: behind the
 * label, if that is in front of it. NULL: the style is not known. */
size_t labels_style_last(const char *folder, size_t len);
size_t labels_style_name(const struct labels_style *style, int64_t label, const char *folder,
			 size_t len);
/* Appends what the last folder of a class is called; len 0: it has no name. 0 or -ENOMEM. */
int labels_style_add(const struct labels_style *style, int64_t label, const char *name, size_t len,
		     struct buf *ret);
/* Digits that this label needs, and all below it. */
unsigned labels_width(int64_t label);

/* How the numbers that ImageFolder gives to the folders beside each other, sorted by name, compare
 * with the labels. */
struct labels_report {
	uint64_t labels;  /* from 0 to the greatest that is known; 0: the dataset has none */
	uint64_t folders; /* of labels, in the tree */
	uint64_t moved;	  /* of these, whose number is not their label: */
	uint32_t entry;	  /* the first one, */
	int64_t label;	  /* its label, */
	uint32_t number;  /* and its number */
	uint64_t absent;  /* labels without a folder: */
	uint64_t first_absent;
	uint64_t twice; /* folders beside one of the same name without the number: */
	uint32_t first_twice;
	bool numbered; /* the folders are in the order of their labels */
};

/* Returns 0 or -ENOMEM. */
int labels_compare(const struct dataset *dataset, struct labels_report *ret);

/* Sets `ret` to a sentence that says what differs, without a path in front; to nothing where no
 * label is without an image and all are what ImageFolder gives. The same. */
int labels_explain(const struct dataset *dataset, const struct labels_report *report,
		   struct buf *ret);
