#include "pack/tool/work/batches.h"

#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/work/ranked.h"
#include <string.h>

#define BLOCK (64 * KIB)
/* A longer gap is not read. */
#define GAP_MAX (256 * KIB)

/* --- in which order ----------------------------------------------------------------------- */

static uint64_t offset_of(const struct dataset *dataset, uint32_t entry)
{
	return dataset_extent(dataset, dataset_first_extent(dataset, entry)).offset;
}

static uint64_t size_of(const struct dataset *dataset, uint32_t entry)
{
	return dataset_entry(dataset, entry).size;
}

/* Ranks files by their blocks in the pack. An empty file has no bytes there and stays after the one
 * before it. Returns whether the files are in order already. */
static bool rank_by_blocks(const struct dataset *dataset, const uint32_t *files, size_t count,
			   struct ranked *places)
{
	uint64_t block = 0, last = 0;
	bool sorted = true;

	for (size_t i = 0; i < count; i++) {
		if (size_of(dataset, files[i]) > 0)
			block = offset_of(dataset, files[i]) / BLOCK;
		places[i] = (struct ranked){.rank = block, .number = files[i]};
		sorted &= block >= last;
		last = block;
	}
	return sorted;
}

int batch_sort(const struct dataset *dataset, uint32_t *files, size_t count)
{
	SCOPE_FREE struct ranked *places = malloc(count * sizeof(*places) + 1);

	if (!places)
		return -ENOMEM;
	if (rank_by_blocks(dataset, files, count, places))
		return 0;
	qsort(places, count, sizeof(*places), compare_ranked);
	for (size_t i = 0; i < count; i++)
		files[i] = (uint32_t)places[i].number;
	return 0;
}

/* --- batches -------------------------------------------------------------------------------- */

static uint64_t place_of_piece(const struct batch_list *batches, uint32_t entry)
{
	const struct dataset_extent extent =
		dataset_extent(batches->dataset, dataset_first_extent(batches->dataset, entry) +
							 batches->from / FORMAT_EXTENT);

	return extent.offset;
}

/* Takes the next piece of a file of `size` bytes. The parts of split files are a multiple of
 * batches. */
static void take_batch_piece(struct batch_list *batches, uint64_t size, struct batch *batch)
{
	uint64_t left = size - batches->from;

	batch->piece = true;
	batch->last = left <= BATCH_BYTES;
	batch->from = batches->from;
	batch->len = batch->last ? (size_t)left : BATCH_BYTES;
	batch->bytes = batch->len;
	batch->start = place_of_piece(batches, *batch->files);
	batches->from = batch->last ? 0 : batches->from + BATCH_BYTES;
	batches->next += batch->last;
}

/* Extends the batch over a file, unless that is too far away. */
static bool reach(struct batch *batch, uint64_t offset, uint64_t size)
{
	uint64_t start = batch->start, end = batch->start + batch->len;

	if (batch->bytes == 0) {
		start = offset;
		end = offset + size;
	}
	if (offset > end + GAP_MAX || offset + size + GAP_MAX < start)
		return false;
	if (offset < start)
		start = offset;
	if (offset + size > end)
		end = offset + size;
	if (end - start > BATCH_BYTES)
		return false;
	batch->start = start;
	batch->len = (size_t)(end - start);
	return true;
}

static bool join_batch(const struct batch_list *batches, struct batch *batch)
{
	uint32_t entry = batch->files[batch->count];
	uint64_t size = size_of(batches->dataset, entry);

	if (size > BATCH_BYTES ||
	    (size > 0 && !reach(batch, offset_of(batches->dataset, entry), size)))
		return false;
	batch->bytes += size;
	batch->count++;
	return true;
}

bool batch_list_next(struct batch_list *batches, struct batch *ret)
{
	struct batch batch = {.files = batches->files + batches->next, .last = true};
	size_t left = batches->count - batches->next;
	uint64_t size;

	if (left == 0)
		return false;
	size = size_of(batches->dataset, *batch.files);
	if (size > BATCH_BYTES) {
		batch.count = 1;
		take_batch_piece(batches, size, &batch);
	} else {
		while (batch.count < left && batch.count < BATCH_FILES &&
		       join_batch(batches, &batch))
			;
		batches->next += batch.count;
	}
	*ret = batch;
	return true;
}

struct batch_extents batch_extents(const struct dataset *dataset, const struct batch *batch,
				   uint32_t i)
{
	uint64_t first = dataset_first_extent(dataset, batch->files[i]);

	if (batch->piece)
		return (struct batch_extents){first + batch->from / FORMAT_EXTENT,
					      format_extents(batch->bytes)};
	return (struct batch_extents){first, format_extents(size_of(dataset, batch->files[i]))};
}
