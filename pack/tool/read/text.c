#include "pack/tool/read/text.h"

#include "base/le.h"
#include "base/scope.h"
#include <xxhash.h>

const char *text_mode(enum format_kind kind, mode_t mode, char buf[static TEXT_MODE])
{
	static const char letters[] = "rwxrwxrwx";
	static const struct {
		mode_t bit;
		int at;
		char with_x, without;
	} special[] = {{04000, 3, 's', 'S'}, {02000, 6, 's', 'S'}, {01000, 9, 't', 'T'}};

	buf[0] = kind == FORMAT_DIRECTORY ? 'd' : kind == FORMAT_SYMLINK ? 'l' : '-';
	for (unsigned i = 0; i < 9; i++)
		buf[1 + i] = mode & (0400u >> i) ? letters[i] : '-';
	for (unsigned i = 0; i < 3; i++) {
		char *x = buf + special[i].at;

		if (mode & special[i].bit)
			*x = *x == 'x' ? special[i].with_x : special[i].without;
	}
	buf[10] = '\0';
	return buf;
}

const char *text_kind(enum format_kind kind)
{
	switch (kind) {
	case FORMAT_DIRECTORY:
		return "directory";
	case FORMAT_SYMLINK:
		return "symlink";
	case FORMAT_HARDLINK:
		return "hardlink";
	default:
		return "file";
	}
}

int text_sum(struct dataset *dataset, uint32_t entry, uint64_t *ret)
{
	SCOPE(buf_release) struct buf sums = BUF_INIT;
	struct dataset_entry file;
	uint64_t first, count, sum = XXH3_64bits("", 0);
	int r;

	dataset_entry(dataset, entry, &file);
	first = dataset_first_extent(dataset, file.inode);
	count = format_extents(file.size);
	for (uint64_t i = 0; i < count; i++) {
		uint8_t bytes[8];

		r = dataset_sum(dataset, first + i, &sum);
		le_put64(bytes, sum);
		if (r == 0 && count > 1)
			r = buf_add(&sums, bytes, sizeof(bytes));
		if (r < 0)
			return r;
	}
	*ret = count > 1 ? XXH3_64bits(sums.data, sums.len) : sum;
	return 0;
}
