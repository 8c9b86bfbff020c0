#include "fs/disk_cache.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/scope.h"
#include <stdlib.h>

struct disk_cache {
	struct disk disk;
};

int disk_cache_open(const char *spec, struct disk_cache **ret, struct err *err)
{
	struct disk_cache *disk = calloc(1, sizeof(*disk));
	int r;

	if (!disk)
		return -ENOMEM;
	r = disk_open(spec, log_notice_line, &disk->disk, err);
	if (r < 0) {
		disk_cache_free(disk);
		return r;
	}
	*ret = disk;
	return 0;
}

int disk_cache_folder(const struct disk_cache *disk)
{
	return block_store_folder(disk->disk.store);
}

const char *disk_cache_indexes(const struct disk_cache *disk)
{
	return block_store_indexes(disk->disk.store);
}

void disk_cache_free(struct disk_cache *disk)
{
	if (!disk)
		return;
	disk_release(&disk->disk);
	free(disk);
}

void disk_cache_rest(struct disk_cache *disk)
{
	disk_rest(&disk->disk);
}

int disk_cache_add(struct disk_cache *disk, struct reader *far, struct reader **ret)
{
	return reader_blocks_new(far, &disk->disk, true, ret);
}

int disk_cache_find(struct disk_cache *disk, const char *place, struct reader **ret)
{
	return block_store_find(disk->disk.store, place, ret);
}

void disk_cache_fill(struct disk_cache *disk)
{
	struct reader *reader = NULL;

	while ((reader = reader_blocks_next(&disk->disk, reader)))
		reader_blocks_fill(reader);
}

/* Whether none of the readers before has this copy. */
static bool is_new_copy(struct buf *copies, uint64_t copy)
{
	const uint64_t *all = BUF_ITEMS(copies, const uint64_t);

	for (size_t i = 0; i < BUF_COUNT(copies, uint64_t); i++)
		if (all[i] == copy)
			return false;
	buf_add(copies, &copy, sizeof(copy));
	return true;
}

const char *disk_cache_stats(struct disk_cache *disk, struct reader_blocks_stats *ret)
{
	SCOPE(buf_release) struct buf copies = BUF_INIT;
	struct reader *reader = NULL;

	*ret = (struct reader_blocks_stats){.complete = true};
	while ((reader = reader_blocks_next(&disk->disk, reader))) {
		struct reader_blocks_stats one;

		reader_blocks_stats(reader, &one);
		if (one.open && is_new_copy(&copies, one.copy)) {
			ret->size += one.size;
			ret->cached += one.cached;
		}
		ret->near_bytes += one.near_bytes;
		ret->far_bytes += one.far_bytes;
		ret->damaged += one.damaged;
		ret->left_out += one.left_out;
		ret->open |= one.open;
		ret->complete &= one.complete;
		ret->full |= one.full;
		ret->failed |= one.failed;
		if (one.filler > ret->filler || one.filler == FILL_FILLING)
			ret->filler = one.filler;
	}
	/* What limits it, or otherwise what it does, in a word. */
	if (!ret->open)
		return disk->disk.readers ? "off" : "alone";
	if (ret->failed)
		return "failed";
	if (ret->complete)
		return "complete";
	if (ret->full || ret->filler == FILL_NO_ROOM)
		return "full";
	return ret->filler == FILL_FILLING ? "filling" : "growing";
}
