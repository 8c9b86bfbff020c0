/* Reads whatever bytes it is given as a tar of WebDataset samples, from a stream. Nothing that it
 * says may do more than give an error, and images have paths that a pack can hold. The first byte
 * says which layout; headers are made right, as a wrong checksum ends a tar. */
#include "base/io.h"
#include "base/scope.h"
#include "pack/foreign/foreign.h"
#include "pack/tool/import/tar_set.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define RECORD	    512
#define ENTRIES_MAX 2000
#define READ_MAX    100000

static void must(bool kept)
{
	if (!kept)
		abort();
}

static int use(struct tar_set *set, const struct tar_entry *entry, int layout)
{
	static char data[READ_MAX];
	struct err err = {{0}};
	uint64_t len = entry->size < READ_MAX ? entry->size : READ_MAX;

	must(layout != FOREIGN_CLASSES || (entry->kind == TAR_FILE && *entry->path != '/'));
	return entry->kind == TAR_FILE ? tar_set_read(set, data, len, &err) : 0;
}

static void read_all(int fd, int layout)
{
	const struct foreign_settings settings = {.layout = layout};
	const struct tar_set_params params = {.fd = fd, .shown = "tar", .foreign = &settings};
	struct tar_set *set = NULL;
	struct tar_entry entry;
	struct err err = {{0}};
	int r = tar_set_new(&params, &set, &err);

	for (unsigned i = 0; r == 0 && i < ENTRIES_MAX; i++) {
		r = tar_set_next(set, &entry, &err);
		if (r == 0)
			r = use(set, &entry, layout);
	}
	tar_set_free(set);
}

static void sum_again(uint8_t *block)
{
	unsigned sum = 8 * ' ';

	for (size_t i = 0; i < RECORD; i++)
		sum += i < 148 || i >= 156 ? block[i] : 0;
	snprintf((char *)block + 148, 8, "%06o", sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPE_CLOSE int fd = memfd_create("tar", MFD_CLOEXEC);
	SCOPE_FREE uint8_t *copy = size > 1 ? malloc(size - 1) : NULL;

	if (fd < 0 || !copy)
		return 0;
	memcpy(copy, data + 1, size - 1);
	for (size_t at = 0; at + RECORD < size; at += RECORD)
		if (memcmp(copy + at + 257, "ustar", 5) == 0)
			sum_again(copy + at);
	if (io_pwrite_full(fd, copy, size - 1, 0) == 0)
		read_all(fd, data[0] & 1 ? FOREIGN_CLASSES : FOREIGN_AUTO);
	return 0;
}
