/* Whatever the bytes: a tar, a zip, a .beton or a .pth becomes a tree, or is refused with a
 * sentence; and each file that is told lies within the bytes. The first byte says which it is, and
 * is not part of it. Headers of a tar get a right checksum first, as else nearly every mutation
 * would end there.
 */
#include "base/reader_file.h"
#include "base/scope.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/repair.h"
#include "tests/fuzz/scan.h"

extern const struct foreign_format tar_format;
extern const struct foreign_format zip_format;
extern const struct foreign_format torch_format;
extern const struct foreign_format ffcv_format;

static const struct {
	const struct foreign_format *format;
	int layout;
} kinds[] = {
	{&tar_format, FOREIGN_TREE},  {&tar_format, FOREIGN_CLASSES}, {&zip_format, FOREIGN_TREE},
	{&ffcv_format, FOREIGN_TREE}, {&torch_format, FOREIGN_TREE},  {&tar_format, FOREIGN_AUTO},
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPE(reader_release) struct reader *reader = NULL;
	size_t which = size ? data[0] % KINDS : 0;

	if (size < 2)
		return 0;
	SCOPE_CLOSE int fd = fuzz_file(data + 1, size - 1);
	must(reader_file_borrow(fd, &reader) == 0);
	fuzz_scan(kinds[which].format, &(struct foreign_settings){.layout = kinds[which].layout},
		  reader, "x");
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	size = LLVMFuzzerMutate(data, size, room);
	if (size && kinds[data[0] % KINDS].format == &tar_format && seed % 8)
		repair_tar(data + 1, size - 1);
	return size;
}
