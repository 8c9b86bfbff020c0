/* Whatever the bytes: a tar, a zip, a .beton or a .pth becomes a tree, or is refused with a
 * sentence; and each file that is told lies within the bytes. The first byte says which it is, and
 * is not part of it. Headers of a tar get a right checksum first, as else nearly every mutation
 * would end there.
 */
#include "base/reader_file.h"
#include "base/scope.h"
#include "pack/foreign/format.h"
#include "pack/foreign/tree_internal.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/repair.h"
#include <string.h>

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

static void must_lie_within(const struct foreign_tree *tree, size_t size)
{
	for (size_t i = 0; i < tree_count(tree); i++) {
		const struct tree_row *row = &tree_rows(tree)[i];

		must(row->kind != FORMAT_FILE || row->volume != TREE_SOURCE ||
		     (row->offset <= size && row->size <= size - row->offset));
	}
}

static void scan(const struct foreign_format *format, int layout, struct reader *reader,
		 size_t size)
{
	const struct foreign_settings settings = {.layout = layout};
	SCOPE(foreign_source_release) struct foreign_source source = {0};
	SCOPE(foreign_tree_release) struct foreign_tree tree = {0};
	struct err err = {0};

	if (foreign_source_init(&source, reader, "x", false, &settings, &err) < 0 ||
	    foreign_tree_init(&tree, &source, &err) < 0)
		return;
	format->probe(&source);
	if (format->scan(&source, &tree, &err) == 0)
		must_lie_within(&tree, size);
	else
		must(err.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPE(reader_release) struct reader *reader = NULL;
	size_t which = size ? data[0] % KINDS : 0;

	if (size < 2)
		return 0;
	SCOPE_CLOSE int fd = fuzz_file(data + 1, size - 1);
	must(reader_file_borrow(fd, &reader) == 0);
	scan(kinds[which].format, kinds[which].layout, reader, size - 1);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	size = LLVMFuzzerMutate(data, size, room);
	if (size && kinds[data[0] % KINDS].format == &tar_format && seed % 8)
		repair_tar(data + 1, size - 1);
	return size;
}
