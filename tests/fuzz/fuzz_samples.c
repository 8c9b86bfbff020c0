/* Reads whatever bytes it is given as a tar of WebDataset samples, from a stream. Nothing that it
 * says may do more than give an error, and images have paths that a pack can hold. The first byte
 * says which layout. */
#include "base/scope.h"
#include "pack/foreign/foreign.h"
#include "pack/tool/import/tar_set.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/repair.h"

#define ENTRIES_MAX 2000
#define READ_MAX    100000

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	SCOPE_CLOSE int fd = fuzz_file(data + 1, size - 1);
	read_all(fd, data[0] & 1 ? FOREIGN_CLASSES : FOREIGN_AUTO);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	size = LLVMFuzzerMutate(data, size, room);
	if (size && seed % 8)
		repair_tar(data + 1, size - 1);
	return size;
}
