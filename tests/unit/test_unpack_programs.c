/* What libarchive leaves to a program, which is not there: one that was built without liblzma does
 * that with xz, and this test stands for it. */
#include "base/io.h"
#include "base/scope.h"
#include "pack/tool/import/unpack.h"
#include "tests/unit/test.h"
#include <archive.h>
#include <string.h>
#include <sys/mman.h>

#define XZ     \
	"\xfd" \
	"7zXZ"

/* In the place of libarchive's. */
int archive_read_support_filter_xz(struct archive *archive)
{
	archive_read_support_filter_program_signature(archive, "no-such-xz -d", XZ, sizeof(XZ));
	return ARCHIVE_WARN;
}

TEST(a_program_that_is_missing_is_named_and_no_damage)
{
	SCOPE_CLOSE int from = memfd_create("from", MFD_CLOEXEC);
	SCOPE_CLOSE int to = memfd_create("to", MFD_CLOEXEC);
	struct err err = {0};
	uint64_t behind;

	assert_int_equal(io_pwrite_full(from, XZ, sizeof(XZ), 0), 0);
	assert_int_equal(unpack(NULL, from, to, &behind, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.text, "libarchive cannot decompress it: "));
	assert_non_null(strstr(err.text,
			       "unable to run program \"no-such-xz -d\"; install that "
			       "program, or unpack the file"));
}
