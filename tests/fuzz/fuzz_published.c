/* An index that a publisher has laid beside a file, with that file: two bytes say how long the file
 * is, then it comes, a tar, then the index. The file opens, by the index or by a scan, or is
 * refused with a sentence; what it shows can be read, or fails. */
#include "base/le.h"
#include "base/math.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include "pack/dataset_open.h"
#include "pack/foreign/foreign.h"
#include "pack/foreign/index_file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/repair.h"
#include <string.h>

#define NAME	    "/proc/x.tar" /* nothing can be written beside it */
#define ENTRIES_MAX 200

struct part {
	const uint8_t *data;
	size_t size;
};

/* [0]: the file; [1]: its index. */
static void divide(const uint8_t *data, size_t size, struct part ret[static 2])
{
	size_t len = size < 2 ? 0 : min(le_get16(data), size - 2);

	ret[0] = (struct part){data + min(size, 2), len};
	ret[1] = (struct part){ret[0].data + len, size - min(size, 2) - len};
}

static int open_part(void *context, const char *name, unsigned how, struct reader **ret,
		     struct err *err)
{
	const struct part *part = context;
	SCOPE_CLOSE int fd = -1;

	(void)how;
	(void)err;
	part += strcmp(name, NAME) != 0;
	fd = fuzz_file(part->data, part->size);
	return reader_file_open_again(fd, ret);
}

static void use(struct dataset *dataset)
{
	uint8_t bytes[512];

	for (uint32_t e = 0; e < dataset_entries(dataset) && e < ENTRIES_MAX; e++) {
		const struct dataset_entry entry = dataset_entry(dataset, e);

		if (format_is_file(entry.kind))
			must(dataset_read(dataset, e, bytes, sizeof(bytes), 0) <=
			     (ssize_t)sizeof(bytes));
	}
}

/* Nothing of its own is kept. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	unsetenv("HOME");
	unsetenv("XDG_CACHE_HOME");
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPE(dataset_readers_release) struct dataset_readers readers = {0};
	static struct pages pages = PAGES_INIT;
	struct part parts[2];
	const struct foreign_settings settings = {
		.open = open_part, .context = parts, .pages = &pages};
	struct dataset *dataset;
	struct err err = {0};

	divide(data, size, parts);
	if (foreign_open(NAME, &settings, &dataset, &err) < 0) {
		must(err.text[0]);
		return 0;
	}
	use(dataset);
	dataset_close_index(dataset, &readers);
	if (readers.index == readers.data)
		readers.index = NULL;
	else
		(void)index_published_write(readers.index, "/proc/x", 0, NULL);
	return 0;
}

/* The index stays as long as it says that it is: all others are refused at once. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	struct part parts[2];
	size_t before, mutated;

	if (seed % 8 == 0 || size < 2)
		return LLVMFuzzerMutate(data, size, room);
	divide(data, size, parts);
	before = size - parts[1].size;
	mutated = LLVMFuzzerMutate(data + before, parts[1].size, room - before);
	if (mutated < parts[1].size)
		memset(data + before + mutated, 0, parts[1].size - mutated);
	repair_index(data + before, parts[1].size);
	return size;
}
