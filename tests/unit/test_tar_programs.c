/* Tars that libarchive leaves to a program, which is not there: one that was built without liblzma
 * does that with xz, and this test stands for it. */
#include "base/io.h"
#include "base/scope.h"
#include "pack/tool/import/tar.h"
#include "tests/unit/test.h"
#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>
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

/* A descriptor of a tar with one file. */
static int make_tar(const char *name, const char *data, size_t len)
{
	struct archive *archive = archive_write_new();
	struct archive_entry *entry = archive_entry_new();
	int fd = memfd_create("tar", MFD_CLOEXEC);

	assert_true(fd >= 0);
	archive_entry_set_pathname(entry, name);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_size(entry, (la_int64_t)len);
	assert_int_equal(archive_write_set_format_ustar(archive), ARCHIVE_OK);
	assert_int_equal(archive_write_open_fd(archive, fd), ARCHIVE_OK);
	assert_int_equal(archive_write_header(archive, entry), ARCHIVE_OK);
	assert_int_equal(archive_write_data(archive, data, len), len);
	archive_entry_free(entry);
	archive_write_free(archive);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

#define WAY_OUT "; install that program, or unpack the tar and pack the folder"

TEST(a_program_that_is_missing_is_named_and_no_damage)
{
	SCOPE_CLOSE int fd = memfd_create("tar", MFD_CLOEXEC);
	struct err err = {0};
	struct tar *tar;

	assert_int_equal(io_pwrite_full(fd, XZ, sizeof(XZ), 0), 0);
	assert_int_equal(tar_new(fd, TAR_NESTED, &tar, &err), -ENOTSUP);
	assert_string_equal(err.text,
			    "libarchive cannot decompress it: can't initialize filter; "
			    "unable to run program \"no-such-xz -d\"" WAY_OUT);
}

/* What a pack holds must not depend on the programs that happen to be there. */
TEST(a_tar_in_a_tar_does_not_become_a_file_for_want_of_a_program)
{
	SCOPE_CLOSE int fd = make_tar("d/in.tar.xz", XZ, sizeof(XZ));
	struct tar_entry entry;
	struct err err = {0};
	struct tar *tar;

	assert_int_equal(tar_new(fd, TAR_NESTED, &tar, &err), 0);
	assert_int_equal(tar_next(tar, &entry, &err), -ENOTSUP);
	assert_string_equal(err.text,
			    "'d/in.tar.xz': libarchive cannot decompress it: can't "
			    "initialize filter; unable to run program \"no-such-xz -d\"" WAY_OUT);
	tar_free(tar);
}

TEST(what_has_no_name_of_a_tar_needs_no_program)
{
	SCOPE_CLOSE int fd = make_tar("x.xz", XZ, sizeof(XZ));
	struct tar_entry entry;
	struct err err = {0};
	struct tar *tar;

	assert_int_equal(tar_new(fd, TAR_NESTED, &tar, &err), 0);
	assert_int_equal(tar_next(tar, &entry, &err), 0);
	assert_string_equal(entry.path, "x.xz");
	assert_int_equal(tar_next(tar, &entry, &err), 1);
	tar_free(tar);
}
