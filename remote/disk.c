#include "remote/disk.h"
#include "base/scope.h"

#define READS 8 /* pieces of 110 KB and more: as many are under way on a disk */

int disk_open(const char *spec, void (*notice)(const char *line), struct disk *ret, struct err *err)
{
	SCOPE(disk_release) struct disk disk = {.notice = notice};
	int r = block_store_open(spec, &disk.store, err);

	if (r == 0)
		r = block_writer_new(disk.store, notice, &disk.writer);
	if (r < 0)
		return r;
	block_store_notice(disk.store, notice);
	*ret = disk;
	disk = (struct disk){0};
	block_fillers_init(&ret->fillers);
	jobs_init(&ret->reads, READS);
	polls_init(&ret->waits);
	return 0;
}

void disk_rest(struct disk *disk)
{
	block_fillers_rest(&disk->fillers);
	polls_rest(&disk->waits);
	jobs_rest(&disk->reads);
	block_writer_rest(disk->writer);
}

void disk_release(struct disk *disk)
{
	block_fillers_release(&disk->fillers);
	polls_release(&disk->waits);
	jobs_release(&disk->reads);
	block_writer_free(disk->writer);
	block_store_free(disk->store);
	*disk = (struct disk){0};
}
