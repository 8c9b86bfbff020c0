/* Opens whatever bytes it is given as a pack, and uses all of it: the tree, attributes, some
 * reads, the lists that loaders may index, the check of keys. Nothing that a file says may do more
 * than give an error. */
#include "base/scope.h"
#include "fs/lists.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/repair.h"
#include <stdio.h>
#include <xxhash.h>

#define ENTRIES_MAX 2000

static void use_file(struct dataset *dataset, uint32_t entry, const struct dataset_entry *e)
{
	uint64_t first = dataset_first_extent(dataset, entry);
	struct dataset_extent x;
	uint8_t bytes[512];

	if (e->size > 0) {
		dataset_extent(dataset, first, &x);
		must(x.entry == e->inode && x.from == 0);
		dataset_extent(dataset, first + format_extents(e->size) - 1, &x);
		must(x.entry == e->inode && x.from + x.size == e->size);
	}
	(void)dataset_read(dataset, entry, bytes, sizeof(bytes), 0, true);
	(void)dataset_read(dataset, entry, bytes, sizeof(bytes), e->size / 2, false);
}

static void use_entry(struct dataset *dataset, uint32_t entry)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	struct dataset_entry e;
	struct dataset_attr attr;
	struct dataset_image image;
	uint32_t found;
	size_t len;

	dataset_entry(dataset, entry, &e);
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

static int count_fault(void *context, const struct dataset_fault *fault)
{
	*(uint64_t *)context += XXH3_64bits(fault->path, fault->len);
	return 0;
}

static int look(void *context, const char *name, const uint32_t *files, uint32_t count,
		uint32_t classes)
{
	const struct dataset *dataset = context;

	(void)name;
	(void)classes;
	for (uint32_t i = 0; i < count; i++)
		must(files[i] == LISTS_NOT_STORED || files[i] < dataset_extents(dataset));
	return 0;
}

static void use(struct dataset *dataset)
{
	char id[FORMAT_ID_TEXT];
	struct err err = {{0}};
	uint64_t faults = 0;

	(void)dataset_content_id(dataset, id);
	for (uint32_t e = 0; e < dataset_entries(dataset) && e < ENTRIES_MAX; e++)
		use_entry(dataset, e);
	(void)dataset_check_sections(dataset, count_fault, &faults);
	(void)dataset_check_keys(dataset, count_fault, &faults, &err);
	if (dataset_extents(dataset) == 0)
		return;
	must(dataset_unchanged(dataset, 0) == 0);
	(void)lists_find(dataset, 0, ENTRIES_MAX, look, dataset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPE_CLOSE int fd = fuzz_file(data, size);
	struct dataset *dataset;
	struct err err = {{0}};
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (dataset_open(path, &dataset, &err) < 0) {
		must(err.text[0]);
		return 0;
	}
	use(dataset);
	dataset_free(dataset);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	return repair_mutate_pack(data, size, room, seed);
}
