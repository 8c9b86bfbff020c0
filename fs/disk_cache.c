#include "fs/disk_cache.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/scope.h"
#include <pthread.h>

struct disk_cache {
	pthread_mutex_t lock;
	struct disk disk;
	struct buf readers; /* the readers, protected by lock until the packs are open */
};

int disk_cache_open(const char *spec, struct disk_cache **ret, struct err *err)
{
	struct disk_cache *disk = calloc(1, sizeof(*disk));
	int r;

	if (!disk)
		return -ENOMEM;
	pthread_mutex_init(&disk->lock, NULL);
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
	buf_release(&disk->readers);
	pthread_mutex_destroy(&disk->lock);
	free(disk);
}

void disk_cache_rest(struct disk_cache *disk)
{
	disk_rest(&disk->disk);
}

/* What lies beside a pack is read and closed while that is opened. */
static void unlist_reader(void *context, struct reader *reader)
{
	struct disk_cache *disk = context;
	struct reader **readers;
	size_t i = 0, count;

	SCOPE_LOCK(&disk->lock);
	readers = BUF_ITEMS(&disk->readers, struct reader *);
	count = BUF_COUNT(&disk->readers, struct reader *);
	while (i < count && readers[i] != reader)
		i++;
	if (i == count)
		return;
	readers[i] = readers[count - 1];
	disk->readers.len -= sizeof(reader);
}

int disk_cache_add(struct disk_cache *disk, struct reader *far, struct reader **ret)
{
	const struct reader_blocks_params params = {
		.disk = &disk->disk, .fill = true, .freed = unlist_reader, .context = disk};
	struct reader *reader;
	int r = reader_blocks_new(far, &params, &reader);

	if (r < 0)
		return r;
	pthread_mutex_lock(&disk->lock);
	r = buf_add(&disk->readers, &reader, sizeof(reader));
	pthread_mutex_unlock(&disk->lock);
	if (r < 0) {
		reader_free(reader);
		return r;
	}
	*ret = reader;
	return 0;
}

int disk_cache_find(struct disk_cache *disk, const char *place, struct reader **ret)
{
	return block_store_find(disk->disk.store, place, ret);
}

void disk_cache_fill(struct disk_cache *disk)
{
	size_t count = BUF_COUNT(&disk->readers, struct reader *);
	struct reader *const *readers = BUF_ITEMS(&disk->readers, struct reader *const);

	for (size_t i = 0; i < count; i++)
		reader_blocks_fill(readers[i]);
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
	size_t count = BUF_COUNT(&disk->readers, struct reader *);
	struct reader *const *readers = BUF_ITEMS(&disk->readers, struct reader *const);

	*ret = (struct reader_blocks_stats){.complete = true};
	for (size_t i = 0; i < count; i++) {
		struct reader_blocks_stats one;

		reader_blocks_stats(readers[i], &one);
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
		return count ? "off" : "alone";
	if (ret->failed)
		return "failed";
	if (ret->complete)
		return "complete";
	if (ret->full || ret->filler == FILL_NO_ROOM)
		return "full";
	return ret->filler == FILL_FILLING ? "filling" : "growing";
}
