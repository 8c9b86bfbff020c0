/* Keys are the numbers of the samples, values pickles of (bytes, label). */
#include "pack/tool/export/format.h"
#include "pack/tool/export/pickle.h"
#include <string.h>

#define PICKLE_ROOM 64 /* around the bytes */

static bool has_newline(const struct samples *samples, struct dataset_entry entry)
{
	while (!memchr(entry.name, '\n', entry.name_len)) {
		if (entry.parent == samples->root)
			return false;
		entry = dataset_entry(samples->dataset, entry.parent);
	}
	return true;
}

/* A newline would end a line in the list of names. */
static const char *lmdb_refuses(const struct samples *samples, const struct dataset_entry *file)
{
	if (has_newline(samples, *file))
		return "a newline in its path";
	return file->size > PICKLE_BYTES_MAX - PICKLE_ROOM ? "over 4 GiB" : NULL;
}

static int lmdb_frame(const struct export_source *source, uint64_t number, struct buf *head,
		      struct buf *tail)
{
	const struct sample *sample = &source->samples->list[number];

	return pickle_sample(dataset_entry(source->dataset, sample->entry).size,
			     (int32_t)samples_label(source->samples, number), head, tail);
}

const struct export_format export_lmdb = {
	.refuses = lmdb_refuses,
	.frame = lmdb_frame,
};
