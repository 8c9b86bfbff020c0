/* The figures of a dataset, from its index alone: what `foldpack info` shows, and the beginning of
 * the page of `foldpack report`. summary_json() writes them as JSON for both.
 *
 * The classes are those that ImageFolder sees. If each top-level directory holds directories and no
 * files, the top-level directories are splits (train/, val/), and the directories in them are
 * classes. If only some do, the splits are those that have the name of a split, hold directories,
 * and hold no images beside them; what is next to them (annotations/) is in no class. Otherwise the
 * top-level directories are the classes of one split, the root. What operating systems leave behind
 * (__MACOSX/, .DS_Store) does not count.
 *
 * A class is everything below its directory. Files are counted by their names, as a reader meets
 * them: a hard link or a symbolic link is a file, and a hard link has the bytes of its file.
 * Memory: 4 bytes an entry. */
#pragma once

#include "base/json.h"
#include "pack/dataset.h"

/* The least, the median and the largest of some values. */
struct range {
	uint64_t min, median, max;
};

struct class
{
	const char *name; /* of the dataset; not NUL-ended */
	size_t name_len;
	uint32_t split; /* its number */
	uint64_t files, bytes;
};

struct class_split {
	const char *name; /* as above; empty: the root */
	size_t name_len;
	uint32_t first, count; /* its classes */
	uint64_t files, bytes;
};

struct classes {
	bool split; /* there are splits */
	struct class_split *splits;
	uint32_t split_count; /* at least 1 */
	struct class *list;   /* by split, then by name */
	uint32_t count;
	uint32_t *of; /* the class of each entry, + 1; 0: in none */
};

/* How many files there are in a class. */
struct class_sizes {
	uint32_t filled, empty; /* classes with files, and without */
	struct range files;	/* of those with files */
	double imbalance;	/* the largest of these divided by the smallest; 0: none */
};

/* 0 or -ENOMEM. */
int classes_new(const struct dataset *dataset, struct classes *ret);
void classes_release(struct classes *classes);

/* Of the classes of one split. 0 or -ENOMEM. */
int classes_sizes(const struct classes *classes, const struct class_split *split,
		  struct class_sizes *ret);

/* Whether ImageFolder, which goes by the suffix, takes a file with this name. */
bool classes_takes(const char *name, size_t len);

struct summary_images {
	uint64_t count, sized;	    /* sized: width and height are known */
	struct range width, height; /* of those */
};

struct summary {
	char content_id[FORMAT_ID_TEXT];
	struct buf options; /* lines: options_made_with() */
	struct classes classes;
	struct class_sizes *class_sizes;	   /* of each split */
	struct summary_images images[IMAGE_KINDS]; /* IMAGE_UNKNOWN: everything else */
	uint64_t not_resized; /* images that are larger than the pack's options asked for */
	uint64_t aliases, alias_bytes; /* files that share the bytes of others */
	uint64_t based, based_bytes;   /* files of a delta whose bytes are in its base */
	/* The share of files that do not follow the one before: their bytes do not begin within a
	 * MiB of the end of the previous file, in index order. Only files with bytes of their own
	 * count. (Small values fill their page from its end, so a file may begin a little before
	 * the end of the previous one.) */
	double fragmentation;
};

/* 0, -ENOMEM, or what loading the index gave. */
int summary_new(struct dataset *dataset, struct summary *ret);
void summary_release(struct summary *summary);

/* How much larger the pack is than its files, in percent of their bytes, which must not be 0.
 * Negative if files share bytes. */
double summary_overhead(const struct dataset_info *info);

/* Adds the figures as members of the open object; with `class_table` also those of each class. */
void summary_json(const struct dataset_info *info, const struct summary *summary, bool class_table,
		  struct json *json);
