#include "remote/disk.h"
#include <errno.h>

#define READS 8 /* pieces of 110 KB and more: as many are under way on a disk */

static int make_disk_parts(struct disk *disk, void (*notice)(const char *line))
{
	int r = block_writer_new(disk->store, notice, &disk->writer);

	if (r == 0)
		r = block_fillers_new(&disk->fillers);
	if (r == 0)
		r = jobs_new(READS, &disk->reads);
	return r < 0 ? r : polls_new(&disk->waits);
}

int disk_open(const char *spec, void (*notice)(const char *line), struct disk *ret, struct err *err)
{
	struct disk disk = {.notice = notice};
	int r = block_store_open(spec, &disk.store, err);

	if (r < 0)
		return r;
	block_store_notice(disk.store, notice);
	r = make_disk_parts(&disk, notice);
	if (r < 0)
		disk_release(&disk);
	else
		*ret = disk;
	return r;
}

void disk_rest(struct disk *disk)
{
	block_fillers_rest(disk->fillers);
	polls_rest(disk->waits);
	jobs_rest(disk->reads);
	block_writer_rest(disk->writer);
}

void disk_release(struct disk *disk)
{
	block_fillers_free(disk->fillers);
	polls_free(disk->waits);
	jobs_free(disk->reads);
	block_writer_free(disk->writer);
	block_store_free(disk->store);
	*disk = (struct disk){0};
}
