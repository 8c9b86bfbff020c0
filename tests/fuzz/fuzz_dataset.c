/* Opens whatever bytes it is given as a pack, and uses all of it: the tree, attributes, some
 * reads, the lists that loaders may index, the check of keys. Then as an index beside its data, and
 * as a pack that is written to while it is open. Nothing that a file says may do more
 * than give an error. */
#include "base/reader_file.h"
#include "base/scope.h"
#include "lists/lists.h"
#include "pack/dataset_internal.h"
#include "pack/dataset_open.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/repair.h"
#include "tests/fuzz/use.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

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
	uint8_t bytes[FORMAT_ID_BYTES];
	char id[FORMAT_ID_TEXT];
	struct err err = {{0}};
	uint64_t faults = 0;

	(void)dataset_content_id(dataset, id);
	use_entries(dataset);
	if (dataset_whole_id(dataset, id) == 0 &&
	    dataset_load(dataset, DATASET_ATTRS | DATASET_CHECKSUMS, NULL) == 0)
		index_id(&dataset->index, bytes);
	(void)dataset_check_sections(dataset, count_fault, &faults);
	(void)dataset_check_keys(dataset, count_fault, &faults, &err);
	must(dataset_info(dataset)->super && dataset_reader(dataset));
	if (dataset_extents(dataset) == 0)
		return;
	must(dataset_unchanged(dataset, 0) == 0);
	for (uint64_t n = 1; n < 3; n++)
		(void)lists_find(dataset, dataset_extents(dataset) / 3 * n, USE_ENTRIES_MAX, look,
				 dataset);
}

/* Only its name or its mode, and then all of it. */
static void change(struct dataset *dataset, int fd, size_t size)
{
	if (dataset_extents(dataset) == 0)
		return;
	must(fchmod(fd, 0400) == 0 && dataset_unchanged(dataset, 0) == 0);
	must(ftruncate(fd, (off_t)(size / 2)) == 0);
	must(dataset_unchanged(dataset, 0) == -ESTALE);
}

static void open_both(int index, int data, struct dataset_readers *ret)
{
	must(reader_file_borrow(index, &ret->index) == 0);
	must(reader_file_borrow(data, &ret->data) == 0);
}

/* The superblock comes first in an index. */
static void use_as_index(const uint8_t *data, size_t size)
{
	SCOPE(dataset_readers_release) struct dataset_readers readers = {0};
	const uint8_t *super = memmem(data, size, "foldfs\r\n", 8);
	struct err err = {{0}};
	struct dataset *dataset;

	if (!super || (size_t)(data + size - super) < FORMAT_SUPER_BYTES)
		return;
	SCOPE_CLOSE int index = fuzz_file(data, size);
	SCOPE_CLOSE int fd = fuzz_file(data, size);
	must(io_pwrite_full(index, super, FORMAT_SUPER_BYTES, 0) == 0);
	open_both(index, fd, &readers);
	if (dataset_open_index(&readers, &dataset, &err) < 0)
		return;
	use(dataset);
	dataset_close_index(dataset, &readers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPE_CLOSE int fd = fuzz_file(data, size);
	struct dataset *dataset;
	struct err err = {{0}};
	char path[32];
	int r;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	use_as_index(data, size);
	r = dataset_open(path, &dataset, &err);
	if (r < 0) {
		must(err.text[0] && dataset_way_out(r));
		return 0;
	}
	use(dataset);
	change(dataset, fd, size);
	dataset_free(dataset);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	return repair_mutate_pack(data, size, room, seed);
}
