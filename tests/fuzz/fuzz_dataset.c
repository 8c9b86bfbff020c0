/* Opens whatever bytes it is given as a pack, and uses all of it: the tree, attributes, some
 * reads, the check of keys. Nothing that a file says may do more than give an error.
 *
 *	clang -fsanitize=fuzzer,address,undefined -I. -D_GNU_SOURCE tests/fuzz/fuzz_dataset.c \
 *		pack/[!b]*.c base/[bei]*.c -lxxhash -llmdb -lpthread
 *
 * Checksums would stop nearly every mutation at the door, so those of the superblock and of
 * the sections are made right first, where they can be found. The first byte of the input
 * says whether (bit 0) and is not part of the pack. */
#include "base/io.h"
#include "base/le.h"
#include "base/scope.h"
#include "pack/dataset.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <xxhash.h>

#define SUPER_SECTIONS 152
#define SECTION_BYTES  40
#define ENTRIES_MAX    2000

/* The first thing that looks like a superblock. */
static uint8_t *find_super(uint8_t *data, size_t size)
{
	uint8_t *super = memmem(data, size, "foldfs\r\n", 8);

	return super && (size_t)(super - data) <= size - FORMAT_SUPER_BYTES ? super : NULL;
}

static void sum_again(uint8_t *data, size_t size, uint8_t *super)
{
	for (unsigned i = 0; i < SECTION_COUNT; i++) {
		uint8_t *ref = super + SUPER_SECTIONS + SECTION_BYTES * i;
		uint64_t offset = le_get64(ref), bytes = le_get64(ref + 8);

		if (offset <= size && bytes <= size - offset)
			le_put64(ref + 24, XXH3_64bits(data + offset, bytes));
	}
	le_put64(super + FORMAT_SUPER_BYTES - 8, XXH3_64bits(super, FORMAT_SUPER_BYTES - 8));
}

static void use_file(struct dataset *dataset, uint32_t entry, const struct dataset_entry *e)
{
	uint64_t first = dataset_first_extent(dataset, entry);
	struct dataset_extent x;
	uint8_t bytes[512];

	if (e->size > 0) {
		dataset_extent(dataset, first, &x);
		if (x.entry != e->inode || x.from != 0)
			abort();
		dataset_extent(dataset, first + format_extents(e->size) - 1, &x);
		if (x.entry != e->inode || x.from + x.size != e->size)
			abort();
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
	if (dataset_path(dataset, entry, &path) < 0)
		abort();
	(void)dataset_find(dataset, path.data, path.len, &found);
	if (e.kind == FORMAT_DIRECTORY) {
		if (e.first_child + (uint64_t)e.children > dataset_entries(dataset))
			abort();
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

static void use(const char *path)
{
	struct dataset *dataset;
	struct err err = {{0}};
	uint64_t faults = 0;

	if (dataset_open(path, &dataset, &err) < 0)
		return;
	for (uint32_t e = 0; e < dataset_entries(dataset) && e < ENTRIES_MAX; e++)
		use_entry(dataset, e);
	(void)dataset_check_sections(dataset, count_fault, &faults);
	(void)dataset_check_keys(dataset, count_fault, &faults, &err);
	if (dataset_unchanged(dataset) < 0)
		abort();
	dataset_free(dataset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPE_CLOSE int fd = memfd_create("pack", MFD_CLOEXEC);
	SCOPE_FREE uint8_t *copy = size > FORMAT_SUPER_BYTES ? malloc(size - 1) : NULL;
	uint8_t *super;
	char path[32];

	if (fd < 0 || !copy)
		return 0;
	memcpy(copy, data + 1, size - 1);
	super = data[0] & 1 ? find_super(copy, size - 1) : NULL;
	if (super)
		sum_again(copy, size - 1, super);
	if (io_pwrite_full(fd, copy, size - 1, 0) < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	use(path);
	return 0;
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);

/* Most bytes of a pack are file contents and gaps. So, two times in three, the change goes into
 * one section of the index or into the superblock's fields. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	uint8_t *super = size > FORMAT_SUPER_BYTES ? find_super(data, size) : NULL;
	unsigned section = seed / 3 % (SECTION_COUNT + 1);
	uint64_t offset, bytes;

	if (!super || seed % 3 == 0)
		return LLVMFuzzerMutate(data, size, room);
	if (section == SECTION_COUNT) {
		LLVMFuzzerMutate(super, SUPER_SECTIONS + SECTION_BYTES * SECTION_COUNT,
				 SUPER_SECTIONS + SECTION_BYTES * SECTION_COUNT);
		return size;
	}
	offset = le_get64(super + SUPER_SECTIONS + SECTION_BYTES * section) + 1;
	bytes = le_get64(super + SUPER_SECTIONS + SECTION_BYTES * section + 8);
	if (offset < size && bytes > 0 && bytes <= size - offset)
		LLVMFuzzerMutate(data + offset, bytes, bytes);
	return size;
}
