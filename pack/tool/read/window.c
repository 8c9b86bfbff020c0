#include "pack/tool/read/window.h"

#include "base/scope.h"

#define BLOCK (64 * KIB)
/* A longer stretch that nobody wants is not read along. */
#define GAP_MAX (256 * KIB)

/* --- in which order ----------------------------------------------------------------------- */

struct place {
	uint64_t block; /* in the pack */
	uint32_t entry;
};

struct windows {
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

/* An empty file, which lies nowhere, stays behind the one before it. Returns whether the places
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

int windows_new(const struct dataset *dataset, uint32_t *files, size_t count, struct windows **ret)
{
	struct windows *windows = malloc(sizeof(*windows));
	int r = windows ? put_in_order(dataset, files, count) : -ENOMEM;

	if (r < 0) {
		free(windows);
		return r;
	}
	*windows = (struct windows){.dataset = dataset, .files = files, .count = count};
	*ret = windows;
	return 0;
}

void windows_free(struct windows *windows)
{
	free(windows);
}

/* --- windows -------------------------------------------------------------------------------- */

static uint64_t place_of_piece(const struct windows *windows, uint32_t entry)
{
	struct dataset_extent extent;

	dataset_extent(windows->dataset,
		       dataset_first_extent(windows->dataset, entry) +
			       windows->from / FORMAT_EXTENT,
		       &extent);
	return extent.offset;
}

/* Of a file of `size` bytes. Parts of split files are whole windows long. */
static void take_piece(struct windows *windows, uint64_t size, struct window *window)
{
	uint64_t left = size - windows->from;

	window->piece = true;
	window->last = left <= WINDOW_BYTES;
	window->from = windows->from;
	window->len = window->last ? (size_t)left : WINDOW_BYTES;
	window->bytes = window->len;
	window->start = place_of_piece(windows, *window->files);
	windows->from = window->last ? 0 : windows->from + WINDOW_BYTES;
	windows->next += window->last;
}

/* Makes the window reach over a file, unless that is too far away. */
static bool reach(struct window *window, uint64_t offset, uint64_t size)
{
	uint64_t start = window->start, end = window->start + window->len;

	if (window->bytes == 0) {
		start = offset;
		end = offset + size;
	}
	if (offset > end + GAP_MAX || offset + size + GAP_MAX < start)
		return false;
	if (offset < start)
		start = offset;
	if (offset + size > end)
		end = offset + size;
	if (end - start > WINDOW_BYTES)
		return false;
	window->start = start;
	window->len = (size_t)(end - start);
	return true;
}

static bool join(const struct windows *windows, struct window *window)
{
	uint32_t entry = window->files[window->count];
	uint64_t size = size_of(windows->dataset, entry);

	if (size > WINDOW_BYTES ||
	    (size > 0 && !reach(window, offset_of(windows->dataset, entry), size)))
		return false;
	window->bytes += size;
	window->count++;
	return true;
}

bool windows_next(struct windows *windows, struct window *ret)
{
	struct window window = {.files = windows->files + windows->next, .last = true};
	size_t left = windows->count - windows->next;
	uint64_t size;

	if (left == 0)
		return false;
	size = size_of(windows->dataset, *window.files);
	if (size > WINDOW_BYTES) {
		window.count = 1;
		take_piece(windows, size, &window);
	} else {
		while (window.count < left && window.count < WINDOW_FILES && join(windows, &window))
			;
		windows->next += window.count;
	}
	*ret = window;
	return true;
}

struct window_extents window_extents(const struct dataset *dataset, const struct window *window,
				     uint32_t i)
{
	uint64_t first = dataset_first_extent(dataset, window->files[i]);

	if (window->piece)
		return (struct window_extents){first + window->from / FORMAT_EXTENT,
					       format_extents(window->bytes)};
	return (struct window_extents){first, format_extents(size_of(dataset, window->files[i]))};
}
