#include "remote/disk.h"
#include "base/clock.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "remote/block_filler.h"
#include <stdio.h>
#include <string.h>

#define READS	    8 /* pieces of 110 KB and more: as many are under way on a disk */
#define WRITES	    2 /* one writes pieces of 110 KB to a disk at 320 MB/s */
#define MEMORY_MOST (128 * MIB)
#define ROOM	    (4 * MIB)		/* asked for in one step: several processes may do so */
#define FULL_NS	    (10 * CLOCK_SECOND) /* until it is asked again whether the cache may grow */

int disk_open(const char *spec, void (*notice)(const char *line), struct disk *ret, struct err *err)
{
	struct disk disk = {.notice = notice};
	int r = block_store_open(spec, &disk.store, err);

	if (r < 0)
		return r;
	block_store_notice(disk.store, notice);
	*ret = disk;
	jobs_init(&ret->reads, READS);
	jobs_init(&ret->writes, WRITES);
	workers_init(&ret->filler, 1, block_filler_step, ret);
	return 0;
}

void disk_rest(struct disk *disk)
{
	workers_rest(&disk->filler);
	jobs_rest(&disk->reads);
	jobs_rest(&disk->writes);
}

void disk_release(struct disk *disk)
{
	if (!disk->store)
		return;
	workers_release(&disk->filler);
	jobs_release(&disk->reads);
	jobs_release(&disk->writes);
	block_store_free(disk->store);
	*disk = (struct disk){0};
}

bool disk_is_off(const struct disk *disk)
{
	return disk->failed || clock_ns() < disk->full_until;
}

/* A piece larger than the bound is taken when nothing else is. */
void *disk_take(struct disk *disk, size_t len)
{
	void *memory = NULL;

	pthread_mutex_lock(&disk->filler.lock);
	if (disk_is_off(disk) || (disk->memory && disk->memory + len > MEMORY_MOST))
		len = 0;
	disk->memory += len;
	pthread_mutex_unlock(&disk->filler.lock);
	if (len && posix_memalign(&memory, READER_PAGE, pages_end(len)) != 0) {
		memory = NULL;
		disk_give_back(disk, NULL, len);
	}
	return memory;
}

void disk_give_back(struct disk *disk, void *memory, size_t len)
{
	free(memory);
	SCOPE_LOCK(&disk->filler.lock);
	disk->memory -= len;
}

/* The folder sees what was written, but not what is being written. Called with the lock held, and
 * without while the folder is asked: that takes long. */
static bool take_room(struct disk *disk, size_t len)
{
	while (disk->asks || (disk->room < len && disk->writing))
		pthread_cond_wait(&disk->filler.changed, &disk->filler.lock);
	if (!disk_is_off(disk) && disk->room < len) {
		uint64_t room;

		disk->asks = true;
		pthread_mutex_unlock(&disk->filler.lock);
		room = block_store_room(disk->store, max(len, ROOM));
		pthread_mutex_lock(&disk->filler.lock);
		disk->asks = false;
		disk->room = room;
		if (room < len)
			disk->full_until = clock_ns() + FULL_NS;
		pthread_cond_broadcast(&disk->filler.changed);
	}
	if (disk_is_off(disk) || disk->room < len)
		return false;
	disk->room -= len;
	disk->writing += len;
	return true;
}

/* Once for all copies: the reason is mostly the same. */
void disk_say_unused(struct disk *disk, int error)
{
	char line[256];

	snprintf(
		line, sizeof(line), "the disk cache cannot be used, the mount goes on without: %s",
		error == -EOPNOTSUPP
			? "its filesystem does not tell which parts of a file are holes (SEEK_HOLE)"
			: err_text(NULL, error));
	if (disk->notice && !atomic_exchange(&disk->said, true))
		disk->notice(line);
}

static void say_failed(const struct disk *disk, int error)
{
	char line[256];

	snprintf(line, sizeof(line),
		 "the disk cache cannot be written to: %s; what is in it is used, and nothing is "
		 "added",
		 strerror(-error));
	if (disk->notice)
		disk->notice(line);
}

bool disk_write(struct disk *disk, struct blocks *blocks, const void *memory, size_t len,
		uint64_t offset)
{
	bool may, first;
	int r;

	pthread_mutex_lock(&disk->filler.lock);
	may = take_room(disk, len);
	pthread_mutex_unlock(&disk->filler.lock);
	if (!may)
		return false;
	r = blocks_write(blocks, memory, len, offset);
	pthread_mutex_lock(&disk->filler.lock);
	disk->writing -= len;
	first = r < 0 && !disk->failed;
	disk->failed |= r < 0;
	pthread_cond_broadcast(&disk->filler.changed);
	pthread_mutex_unlock(&disk->filler.lock);
	if (first)
		say_failed(disk, r);
	return r == 0;
}
