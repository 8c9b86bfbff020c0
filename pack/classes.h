/* Classes that have labels, and what their folders are called. ImageFolder numbers folders as they
 * are sorted by name. That these numbers are the labels needs one of two things:
 *
 *	names    sort as their labels do, and none is that of two labels
 *	numbers  the label, with zeros in front, and then the name
 *
 * Of the records of one file (pack/foreign/tree.h), or of several files (pack/labels_join.h). Not
 * thread-safe. Internal to pack/. */
#pragma once

#include "base/number_table.h"
#include "pack/labels.h"

struct label_class {
	int64_t label;
	size_t text;	      /* the folder above it, with a slash, and its name: in the texts */
	uint32_t above, name; /* bytes of these; no name: 0 */
	uint32_t root;	      /* of one file: bytes of `above` that are above all classes */
	uint32_t files;	      /* the same: how many it has */
	const char *below;    /* of several files: the folder that these go into */
	unsigned pack;	      /* the same: the first that has it */
	bool fixed;	      /* of a pack: its folder stays */
	bool made_up;	      /* the name is the label */
};

struct label_classes {
	struct buf texts;
	struct buf rows; /* struct label_class: each once */
	struct number_table table;
};

void label_classes_release(struct label_classes *classes);

static inline size_t label_class_count(const struct buf *rows)
{
	return BUF_COUNT(rows, struct label_class);
}

static inline struct label_class *label_class_rows(const struct buf *rows)
{
	return BUF_ITEMS(rows, struct label_class);
}

/* Its name; not NUL-ended. */
static inline const char *label_class_name(const struct label_classes *classes,
					   const struct label_class *class)
{
	return classes->texts.data + class->text + class->above;
}

/* Adds a class, whose text is the last of the texts, unless it is there: then its text goes.
 * *ret_number: its place, plus 1. Returns 0 or -ENOMEM. */
int label_classes_add(struct label_classes *classes, const struct label_class *class,
		      uint32_t *ret_number);

int label_compare_above(const struct label_classes *classes, const struct label_class *a,
			const struct label_class *b);
int label_compare_names(const struct label_classes *classes, const struct label_class *a,
			const struct label_class *b);
/* By what is above them, label and name; for qsort_r(3). */
int label_compare_by_label(const void *a, const void *b, void *classes);

/* Appends those that have files, by the names of folders without numbers; one without a name has
 * its label, with so many digits. Returns 0 or -ENOMEM. */
int label_classes_by_name(struct label_classes *classes, unsigned width, struct buf *ret);
/* Whether the folders of such rows come in the order of their labels, each with one. twice(),
 * unless it is NULL, gets classes of one name. Returns 0, or what that returned. */
int label_classes_order(const struct label_classes *classes, const struct buf *by_name,
			int (*twice)(void *context, const struct label_class *a,
				     const struct label_class *b),
			void *context, bool *ret);
