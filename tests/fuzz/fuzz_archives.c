/* Whatever the bytes: a tar, a zip, a .beton or a .pth becomes a tree, or is refused with a
 * sentence; and each file that is told lies within the bytes. The first byte says which it is, and
 * is not part of it. Headers of a tar get a right checksum first, as else nearly every mutation
 * would end there.
 */
#include "base/io.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include "pack/foreign/format.h"
#include "pack/foreign/tree_internal.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define RECORD 512

extern const struct foreign_format tar_format;
extern const struct foreign_format zip_format;
extern const struct foreign_format torch_format;
extern const struct foreign_format ffcv_format;

static const struct foreign_format *const formats[] = {&tar_format, &tar_format, &zip_format,
						       &ffcv_format, &torch_format};

static void sum_again(uint8_t *block)
{
	unsigned sum = 8 * ' ';

	for (size_t i = 0; i < RECORD; i++)
		sum += i < 148 || i >= 156 ? block[i] : 0;
	snprintf((char *)block + 148, 8, "%06o", sum);
}

static void must_lie_within(const struct foreign_tree *tree, size_t size)
{
	for (size_t i = 0; i < tree_count(tree); i++) {
		const struct tree_row *row = &tree_rows(tree)[i];

		if (row->kind == FORMAT_FILE && row->volume == TREE_SOURCE &&
		    (row->offset > size || row->size > size - row->offset))
			abort();
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
	else if (!err.text[0])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPE_CLOSE int fd = memfd_create("fuzz", MFD_CLOEXEC);
	SCOPE(reader_release) struct reader *reader = NULL;
	SCOPE_FREE uint8_t *copy = size > 1 ? malloc(size - 1) : NULL;
	unsigned which;

	if (fd < 0 || !copy)
		return 0;
	which = data[0] % 5;
	memcpy(copy, data + 1, --size);
	for (size_t at = 0; which < 2 && at + RECORD <= size; at += RECORD)
		if (memcmp(copy + at + 257, "ustar", 5) == 0)
			sum_again(copy + at);
	if (io_pwrite_full(fd, copy, size, 0) < 0 || reader_file_borrow(fd, &reader) < 0)
		abort();
	scan(formats[which], which == 1 ? FOREIGN_CLASSES : FOREIGN_TREE, reader, size);
	return 0;
}
