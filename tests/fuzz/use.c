#include "tests/fuzz/use.h"
#include "base/scope.h"
#include "tests/fuzz/fuzz.h"
#include <xxhash.h>

static void use_file(struct dataset *dataset, uint32_t entry, const struct dataset_entry *e)
{
	uint64_t first = dataset_first_extent(dataset, entry);
	struct dataset_extent x;
	uint8_t bytes[512];

	if (e->size > 0) {
		x = dataset_extent(dataset, first);
		must(x.entry == e->inode && x.from == 0);
		x = dataset_extent(dataset, first + format_extents(e->size) - 1);
		must(x.entry == e->inode && x.from + x.size == e->size);
	}
	(void)dataset_read(dataset, entry, bytes, sizeof(bytes), 0);
	(void)dataset_read(dataset, entry, bytes, sizeof(bytes), e->size / 2);
}

static void use_entry(struct dataset *dataset, uint32_t entry)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	struct dataset_entry e = dataset_entry(dataset, entry);
	struct dataset_attr attr;
	struct dataset_image image;
	uint32_t found;
	size_t len;

	(void)dataset_attr(dataset, entry, &attr);
	(void)dataset_image(dataset, entry, &image);
	must(dataset_path(dataset, entry, &path) == 0);
	(void)dataset_find(dataset, path.data, path.len, &found);
	(void)dataset_suffix(dataset, entry);
	if (e.kind == FORMAT_DIRECTORY) {
		must(e.first_child + (uint64_t)e.children <= dataset_entries(dataset));
	} else if (e.kind == FORMAT_SYMLINK) {
		const char *target = dataset_target(dataset, entry, &len);

		(void)XXH3_64bits(target, len);
	} else {
		use_file(dataset, entry, &e);
	}
}

void use_entries(struct dataset *dataset)
{
	for (uint32_t e = 0; e < dataset_entries(dataset) && e < USE_ENTRIES_MAX; e++)
		use_entry(dataset, e);
}
