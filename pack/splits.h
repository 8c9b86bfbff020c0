/* Which files are of different sets, by their names: what load_dataset of Hugging Face keeps apart
 * as splits or configurations is not one dataset here.
 *
 *	train-00003-of-00015.parquet    train: what is in front of the number, if that is one word
 *	in1k-val-00003-of-00015.lmdb    validation: else what a word in it says,
 *	in1k-val-000012.tar             here as well,
 *	data/val/0000.parquet           and in a folder that not all files are in
 *	cat-00000-of-00002.tar          cat: a set of another name
 *
 * The words are train, training; validation, valid, val, dev; test, testing, eval, evaluation,
 * between any of "-._ 0123456789". Where a folder holds the same files as another,
 * full/train-00000-of-00002.parquet and small/train-00000-of-00002.parquet, each has its own sets.
 * A folder YEAR=2026 is a part of one set. Pure. */
#pragma once

#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>

struct split_name {
	const char *name; /* a path or a URL; NULL: it counts for nothing */
	char *folder;	  /* that its set goes into, on the heap; NULL: none */
};

/* Sets the folders, if there are at least two of them; a name that says no set has none. Returns 0
 * or -ENOMEM. */
int splits_find(struct split_name *names, size_t count);
void splits_release(struct split_name *names, size_t count);

/* Whether the name has a number, as one of several files: x-00003-of-00015.lmdb, x-000012.tar,
 * 0000.parquet. */
bool splits_is_numbered(const char *name);

/* Whether a folder of that name is the one of the set, as train and in1k_train are of train. */
bool splits_is_folder(const char *folder, const char *name, size_t len);

/* Appends "train (2 files) and validation (1 file)". 0 or -ENOMEM. */
int splits_tell(const struct split_name *names, size_t count, struct buf *ret);
