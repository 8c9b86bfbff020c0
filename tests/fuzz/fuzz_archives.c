/* Whatever the bytes: a tar becomes a tree, or is refused with a sentence; and each file that is
 * told lies within the bytes. The first byte says how it is read, and is not part of it. Headers
 * get a right checksum first, as else nearly every mutation would end there. */
#include "base/reader_file.h"
#include "base/scope.h"
#include "pack/tool/create/decompressed.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/repair.h"
#include "tests/fuzz/scan.h"

extern const struct foreign_format tar_format;

static const struct {
	int layout;
	bool unpacks; /* as foldpack create has it */
} kinds[] = {
	{FOREIGN_TREE, false},
	{FOREIGN_CLASSES, false},
	{FOREIGN_AUTO, false},
	{FOREIGN_TREE, true},
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

static int leave_out(void *context, const char *path, const char *what, enum foreign_flaw flaw)
{
	(void)context, (void)path, (void)flaw;
	must(*what);
	return 0;
}

static int tick(void *context)
{
	(void)context;
	return 0;
}

static int go_on(void *context, int error, const struct err *err)
{
	(void)context, (void)error;
	must(err->text[0]);
	return 0;
}

static int unpack_to_memory(void *context, const struct foreign_compressed *from,
			    struct reader **spool, uint64_t *ret_start, uint64_t *ret_len,
			    struct err *err)
{
	(void)context;
	return decompressed_part("/dev/shm/x", from, spool, ret_start, ret_len, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPE(reader_release) struct reader *reader = NULL;
	size_t which = size ? data[0] % KINDS : 0;
	struct foreign_watch watch = {
		.left_out = leave_out, .tick = tick, .broken = go_on, .unpack = unpack_to_memory};
	struct foreign_settings settings = {0};

	if (size < 2)
		return 0;
	SCOPE_CLOSE int fd = fuzz_file(data + 1, size - 1);
	must(reader_file_borrow(fd, &reader) == 0);
	settings.layout = kinds[which].layout;
	settings.watch = kinds[which].unpacks ? &watch : NULL;
	fuzz_scan(&tar_format, &settings, reader, "x");
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	size = LLVMFuzzerMutate(data, size, room);
	if (size && seed % 8)
		repair_tar(data + 1, size - 1);
	return size;
}
