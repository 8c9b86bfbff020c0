/* Whatever the bytes: the walker opens and walks to an end, or says what is damaged; and
 * each record that it tells lies within the file. */
#include "base/io.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include "pack/walker.h"
#include <sys/mman.h>

static void must_lie_within(const struct walker_record *record, size_t size)
{
	if (record->offset > size || record->size > size - record->offset)
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
	walker_free(walker);
	return 0;
}
