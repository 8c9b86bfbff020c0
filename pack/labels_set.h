/* The classes of files that are one set: what pack/labels_join.c decides over. Not thread-safe.
 * Internal to pack/. */
#pragma once

#include "base/buf.h"
#include "pack/dataset_merge.h"
#include "pack/labels.h"

/* A class of some of the files. */
struct label_class {
	int64_t label;
	const char *below;    /* the folder that these go into */
	size_t text;	      /* the folder above it, with a slash, and its name: in the texts */
	uint32_t above, name; /* bytes of these; no name: 0 */
	unsigned pack;	      /* the first that has it */
	bool fixed;	      /* of a pack: its folder stays */
	bool made_up;	      /* the name is the label */
};

/* The files of one set. */
struct label_set {
	const struct dataset_pack *packs;
	struct labels_style *styles; /* of all packs; */
	bool *foreign;		     /* whether they have one, */
	bool *of_set;		     /* and are of this set */
	unsigned count;
	struct buf texts;
	struct buf classes; /* struct label_class: each once */
	struct buf by_name; /* the same, by name */
	uint32_t *slots;    /* of a hash table: the number of a class, plus 1 */
	size_t slot_count;
	struct buf disputes;	   /* struct dispute */
	struct labels_style style; /* of all */
	bool names_found;	   /* a label has its name from another file */
};

void label_set_release(struct label_set *set);

static inline struct label_class *label_classes(const struct buf *classes)
{
	return BUF_ITEMS(classes, struct label_class);
}

static inline size_t label_class_count(const struct buf *classes)
{
	return BUF_COUNT(classes, struct label_class);
}

/* The name of the class, not NUL-ended. */
const char *label_class_name(const struct label_set *set, const struct label_class *class);

/* Below 0, 0 or above it: by the folders above them, by names alone, by labels alone; and for
 * label_set_sort(), by the first and then the others. */
int label_compare_above(const struct label_set *set, const struct label_class *a,
			const struct label_class *b);
int label_compare_names(const struct label_set *set, const struct label_class *a,
			const struct label_class *b);
int label_compare_numbers(const struct label_class *a, const struct label_class *b);
int label_compare_by_label(const void *a, const void *b, void *set);
int label_compare_by_name(const void *a, const void *b, void *set);
void label_set_sort(struct label_set *set, struct buf *classes,
		    int (*compare)(const void *, const void *, void *));

/* Whether labels of a file are one more than it took them for. */
bool label_set_shifts(const struct label_set *set, unsigned pack);
/* Whether two files say the same of their classes, as where each has the list of all. */
bool label_set_same(const struct label_set *set, unsigned a, unsigned b);

/* The classes of a file, as its index has them, with their numbers in the set. */
struct label_walk {
	struct labels labels;
	size_t next;
};

/* 0 or -ENOMEM. */
int label_walk_begin(struct label_walk *walk, const struct dataset_pack *pack);
/* Appends the text of the next class to the texts. Returns 0, 1 at the end, or -ENOMEM. */
int label_walk_next(struct label_walk *walk, struct label_set *set, unsigned pack,
		    struct label_class *ret);
void label_walk_release(struct label_walk *walk);

/* Fills the classes, sorted by label. 0 or -ENOMEM. */
int label_set_gather(struct label_set *set);
