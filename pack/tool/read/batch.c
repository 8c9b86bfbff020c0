#include "pack/tool/read/batch.h"

#include "base/scope.h"

#define BLOCK (64 * KIB)
/* A longer stretch that nobody wants is not read along. */
#define GAP_MAX (256 * KIB)

/* --- in which order ----------------------------------------------------------------------- */

struct place {
	uint64_t block; /* in the pack */
	uint32_t entry;
};

struct batch_list {
	const struct dataset *dataset;
	const uint32_t *files;
	size_t count, next;
	uint64_t from; /* of the next file: what has been given out */
};

static uint64_t offset_of(const struct dataset *dataset, uint32_t entry)
{
	struct dataset_extent extent;

	dataset_extent(dataset, dataset_first_extent(dataset, entry), &extent);
	return extent.offset;
}

static uint64_t size_of(const struct dataset *dataset, uint32_t entry)
{
	struct dataset_entry file;

	dataset_entry(dataset, entry, &file);
	return file.size;
}

static int compare_places(const void *a, const void *b)
{
	const struct place *one = a, *other = b;

	if (one->block != other->block)
		return one->block < other->block ? -1 : 1;
	return one->entry < other->entry ? -1 : one->entry > other->entry;
}

/* An empty file, which has no place, stays after the one before it. Returns whether the places
 * are in order as they are. */
static bool find_places(const struct dataset *dataset, const uint32_t *files, size_t count,
			struct place *places)
{
	uint64_t block = 0, last = 0;
	bool sorted = true;

	for (size_t i = 0; i < count; i++) {
		if (size_of(dataset, files[i]) > 0)
			block = offset_of(dataset, files[i]) / BLOCK;
		places[i] = (struct place){.block = block, .entry = files[i]};
		sorted &= block >= last;
		last = block;
	}
	return sorted;
}

static int put_in_order(const struct dataset *dataset, uint32_t *files, size_t count)
{
	SCOPE_FREE struct place *places = malloc(count * sizeof(*places) + 1);

	if (!places)
		return -ENOMEM;
	if (find_places(dataset, files, count, places))
		return 0;
	qsort(places, count, sizeof(*places), compare_places);
	for (size_t i = 0; i < count; i++)
		files[i] = places[i].entry;
	return 0;
}

int batch_list_new(const struct dataset *dataset, uint32_t *files, size_t count,
		   struct batch_list **ret)
{
	struct batch_list *batches = malloc(sizeof(*batches));
	int r = batches ? put_in_order(dataset, files, count) : -ENOMEM;

	if (r < 0) {
		free(batches);
		return r;
	}
	*batches = (struct batch_list){.dataset = dataset, .files = files, .count = count};
	*ret = batches;
	return 0;
}

void batch_list_free(struct batch_list *batches)
{
	free(batches);
}

/* --- batches -------------------------------------------------------------------------------- */

static uint64_t place_of_piece(const struct batch_list *batches, uint32_t entry)
{
	struct dataset_extent extent;

	dataset_extent(batches->dataset,
		       dataset_first_extent(batches->dataset, entry) +
			       batches->from / FORMAT_EXTENT,
		       &extent);
	return extent.offset;
}

/* Of a file of `size` bytes. Parts of split files are whole batches long. */
static void take_piece(struct batch_list *batches, uint64_t size, struct batch *batch)
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

/* Makes the batch reach over a file, unless that is too far away. */
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

static bool join(const struct batch_list *batches, struct batch *batch)
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
		take_piece(batches, size, &batch);
	} else {
		while (batch.count < left && batch.count < BATCH_FILES && join(batches, &batch))
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
