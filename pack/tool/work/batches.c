#include "pack/tool/work/batches.h"

#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/work/ranked.h"

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

int batch_sort(const struct dataset *dataset, uint32_t *files, size_t count)
{
	SCOPE_FREE struct ranked *places = malloc(count * sizeof(*places) + 1);
	uint64_t block = 0;
	bool sorted = true;

	if (!places)
		return -ENOMEM;
	/* An empty file has no bytes there, and stays after the one before it. */
	for (size_t i = 0; i < count; i++) {
		uint64_t last = block;

		if (size_of(dataset, files[i]) > 0)
			block = offset_of(dataset, files[i]) / BLOCK;
		places[i] = (struct ranked){.rank = block, .number = files[i]};
		sorted &= block >= last;
	}
	if (sorted)
		return 0;
	qsort(places, count, sizeof(*places), compare_ranked);
	for (size_t i = 0; i < count; i++)
		files[i] = (uint32_t)places[i].number;
	return 0;
}

/* --- batches -------------------------------------------------------------------------------- */

/* Takes the next piece of a file of `size` bytes. The parts of split files are a multiple of
 * batches. */
static void take_batch_piece(struct batch_list *batches, uint64_t size, struct batch *batch)
{
	uint64_t left = size - batches->from;
	uint64_t extent = dataset_first_extent(batches->dataset, *batch->files) +
			  batches->from / FORMAT_EXTENT;

	batch->count = 1;
	batch->piece = true;
	batch->last = left <= BATCH_BYTES;
	batch->from = batches->from;
	batch->len = batch->last ? (size_t)left : BATCH_BYTES;
	batch->bytes = batch->len;
	batch->start = dataset_extent(batches->dataset, extent).offset;
	batches->from = batch->last ? 0 : batches->from + BATCH_BYTES;
	batches->next += batch->last;
}

/* Extends the batch over its next file, unless that is too long or too far away. */
static bool join_batch(const struct batch_list *batches, struct batch *batch)
{
	uint32_t entry = batch->files[batch->count];
	uint64_t size = size_of(batches->dataset, entry), offset, start, end;

	if (size > BATCH_BYTES)
		return false;
	if (size > 0) {
		offset = offset_of(batches->dataset, entry);
		start = batch->bytes ? batch->start : offset;
		end = batch->bytes ? batch->start + batch->len : offset + size;
		if (offset > end + GAP_MAX || offset + size + GAP_MAX < start)
			return false;
		start = min(start, offset);
		end = max(end, offset + size);
		if (end - start > BATCH_BYTES)
			return false;
		batch->start = start;
		batch->len = (size_t)(end - start);
	}
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
