/* The classes of a dataset, as ImageFolder sees them.
 *
 * If each top-level directory holds directories and no files, the top-level directories are splits
 * (train/, val/), and the directories in them are classes. If only some do, the splits are those
 * that have the name of a split, hold directories, and hold no images beside them; what is next to
 * them (annotations/) is in no class. Otherwise the top-level directories are the classes of one
 * split, the root. What operating systems leave behind (__MACOSX/, .DS_Store) does not count.
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

/* Sorts the values. All are 0 if there are none. */
struct range range_of(uint64_t *values, uint64_t count);

/* {"min": 1, "median": 2, "max": 4} */
void range_json(const struct range *range, const char *name, struct json *json);

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
