/* Whatever the bytes: the walker opens, walks to an end and finds, or says what is damaged; and
 * each record that it tells lies within the file. */
#include "base/io.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include "pack/walker.h"
#include <string.h>
#include <sys/mman.h>

static void must_lie_within(const struct walker_record *record, size_t size)
{
	if (record->offset > size || record->size > size - record->offset)
		abort();
}

static void find(struct walker *walker, const char *key, size_t len, size_t size)
{
	struct walker_record record;
	struct err err;

	if (walker_find(walker, key, len, &record, &err) < 0)
		return;
	must_lie_within(&record, size);
	if (record.key_len != len || memcmp(record.key, key, len) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPE_CLOSE int fd = memfd_create("fuzz", MFD_CLOEXEC);
	SCOPE(reader_release) struct reader *reader = NULL;
	struct walker *walker;
	struct walker_record record;
	struct err err;

	if (fd < 0 || io_pwrite_full(fd, data, size, 0) < 0 || reader_file_borrow(fd, &reader) < 0)
		abort();
	if (walker_new(reader, &walker, &err) < 0)
		return 0;
	for (int r = walker_first(walker, &record, &err); r == 0;
	     r = walker_next(walker, &record, &err))
		must_lie_within(&record, size);
	find(walker, "class000/image00050.jpg", 23, size);
	find(walker, "\0foldfs", 7, size);
	walker_free(walker);
	return 0;
}
