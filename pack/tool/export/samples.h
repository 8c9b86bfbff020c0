/* What of a dataset goes into a format that knows only samples: an image and its label.
 *
 * Classes are the folders in one folder, the root, as ImageFolder finds them: sorted by name, even
 * if they are empty. Their labels are those of the dataset, where it has some (pack/labels.h), or
 * else the numbers that ImageFolder gives them. A sample is a file below one of them, with the
 * suffix of an image. Everything else cannot be held: it is counted, and the first few are kept to
 * be named. */
#pragma once

#include "pack/labels.h"

#define SAMPLES_NAMED 10 /* of what cannot be held */

struct sample {
	uint32_t entry, class;
};

#define SAMPLES_LABEL_MOST (1 << 24) /* a list has a line for each */

struct sample_other {
	uint32_t entry;
	const char *why; /* "a symbolic link" */
};

struct samples {
	const struct dataset *dataset;
	uint32_t root;
	size_t root_len; /* bytes of a path up to where the part below the root begins */
	struct sample *list;
	uint64_t count;
	uint32_t *classes; /* their folders */
	int64_t *labels;   /* of each; below 0: its images have none */
	uint32_t class_count;
	uint32_t unlabelled; /* classes that got a label behind those of the dataset */
	struct labels of_dataset;
	struct sample_other others[SAMPLES_NAMED];
	uint64_t other_count;
};

enum sample_order {
	SAMPLES_PATH,	 /* as ImageFolder lists them */
	SAMPLES_PACK,	 /* as their bytes lie in the pack */
	SAMPLES_SHUFFLE, /* by the XXH3-64 of their paths in the pack under a seed */
};

/* The samples below `root`, a directory, in the order of ImageFolder. `refuses` says why a format
 * cannot hold a file, or NULL. Returns 0, -ENOMEM, or -EOVERFLOW with a sentence: labels over
 * SAMPLES_LABEL_MOST. */
int samples_new(const struct dataset *dataset, uint32_t root,
		const char *(*refuses)(const struct samples *samples,
				       const struct dataset_entry *file),
		struct samples *ret, struct err *err);
void samples_release(struct samples *samples);

static inline int64_t samples_label(const struct samples *samples, uint64_t number)
{
	return samples->labels[samples->list[number].class];
}

/* Appends the names of all classes, a line for each label. Returns 0 or -ENOMEM. */
int samples_names(const struct samples *samples, struct buf *ret);

/* Returns 0 or -ENOMEM. */
int samples_sort(struct samples *samples, enum sample_order order, uint64_t seed);

/* Sets `path` to the path of an entry relative to the root. Returns 0 or -ENOMEM. */
int samples_path(const struct samples *samples, uint32_t entry, struct buf *path);
