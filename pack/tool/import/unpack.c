#include "pack/tool/import/unpack.h"

#include "base/scope.h"
#include "pack/tool/import/tar_gunzip.h"
#include <archive.h>
#include <archive_entry.h>
#include <ctype.h>
#include <errno.h>

struct unpack {
	struct err *err;	 /* borrowed */
	struct archive *archive; /* NULL: gzip alone */
	struct tar_gunzip *from;
	int from_error;	 /* -errno of reading it */
	bool by_program; /* libarchive leaves some compressions to programs */
};

const char *unpack_library(void)
{
	return archive_version_string();
}

static la_ssize_t read_from(struct archive *archive, void *context, const void **ret)
{
	struct unpack *unpack = context;
	ssize_t n = tar_gunzip_next(unpack->from, ret);

	(void)archive;
	if (n >= 0)
		return n;
	if (!tar_gunzip_damage(unpack->from))
		unpack->from_error = (int)n;
	return ARCHIVE_FATAL;
}

/* libarchive's sentences begin with a capital letter. */
static int fail_as(int error, const char *sentence, struct err *err)
{
	bool capital = isupper((unsigned char)sentence[0]) && islower((unsigned char)sentence[1]);

	return err_set(err, error, "%c%s", capital ? tolower(sentence[0]) : sentence[0],
		       sentence + 1);
}

static int gzip_fail(const struct unpack *unpack, int error)
{
	const char *damage = tar_gunzip_damage(unpack->from);

	return damage ? err_set(unpack->err, -EBADMSG, "gzip: %s", damage) : error;
}

static int unpack_fail(struct unpack *unpack)
{
	const char *reason = archive_error_string(unpack->archive);

	if (tar_gunzip_damage(unpack->from))
		return gzip_fail(unpack, -EBADMSG);
	if (unpack->from_error)
		return unpack->from_error;
	if (archive_errno(unpack->archive) == ENOMEM)
		return -ENOMEM;
	return fail_as(-EBADMSG, reason && *reason ? reason : "truncated", unpack->err);
}

/* Has libarchive find out. Built without a library for one of them, it warns that it will run a
 * program instead. */
static int add_filters(struct unpack *unpack)
{
	static int (*const filters[])(struct archive *) = {
		archive_read_support_filter_bzip2,
		archive_read_support_filter_xz,
		archive_read_support_filter_zstd,
		archive_read_support_filter_lz4,
	};

	for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++) {
		int status = filters[i](unpack->archive);

		if (status < ARCHIVE_WARN)
			return -ENOMEM;
		unpack->by_program |= status == ARCHIVE_WARN;
	}
	return 0;
}

/* One, so that what is compressed in a file of a zip stays so. */
static int add_filter(struct unpack *unpack, enum unpack_as as)
{
	static const int codes[] = {[UNPACK_BZIP2] = ARCHIVE_FILTER_BZIP2,
				    [UNPACK_LZMA] = ARCHIVE_FILTER_LZMA,
				    [UNPACK_XZ] = ARCHIVE_FILTER_XZ,
				    [UNPACK_ZSTD] = ARCHIVE_FILTER_ZSTD};
	int status = archive_read_append_filter(unpack->archive, codes[as]);

	unpack->by_program = status == ARCHIVE_WARN;
	return status < ARCHIVE_WARN ? -ENOMEM : 0;
}

static int open_archive(struct unpack *unpack, enum unpack_as as)
{
	struct archive_entry *entry;
	int r, status;

	unpack->archive = archive_read_new();
	if (!unpack->archive || archive_read_support_format_raw(unpack->archive) != ARCHIVE_OK)
		return -ENOMEM;
	r = as == UNPACK_FOUND ? add_filters(unpack) : add_filter(unpack, as);
	if (r < 0)
		return r;
	/* Of no bytes there is no entry. */
	if (archive_read_open(unpack->archive, unpack, NULL, read_from, NULL) == ARCHIVE_OK) {
		status = archive_read_next_header(unpack->archive, &entry);
		return status == ARCHIVE_OK || status == ARCHIVE_EOF ? 0 : unpack_fail(unpack);
	}
	/* libarchive has no other way to say that a program cannot be run. */
	if (unpack->by_program && archive_errno(unpack->archive) == EINVAL)
		return err_set(unpack->err, -ENOTSUP,
			       "libarchive cannot decompress it: %s; install that program, or "
			       "unpack the file",
			       archive_error_string(unpack->archive));
	return unpack_fail(unpack);
}

int unpack_new(const struct tar_blocks *from, enum unpack_as as, struct err *err,
	       struct unpack **ret)
{
	struct unpack *unpack = calloc(1, sizeof(*unpack));
	int r;

	if (!unpack)
		return -ENOMEM;
	unpack->err = err;
	r = tar_gunzip_new(from, &unpack->from);
	if (r == 0 && as != UNPACK_GZIP)
		r = open_archive(unpack, as);
	if (r < 0)
		unpack_free(unpack);
	else
		*ret = unpack;
	return r;
}

ssize_t unpack_next(void *context, const void **ret)
{
	struct unpack *unpack = context;
	int64_t offset;
	size_t len;
	int status;

	if (!unpack->archive) {
		ssize_t n = tar_gunzip_next(unpack->from, ret);

		return n < 0 ? gzip_fail(unpack, (int)n) : n;
	}
	status = archive_read_data_block(unpack->archive, ret, &len, &offset);
	if (status == ARCHIVE_EOF)
		return 0;
	return status == ARCHIVE_OK ? (ssize_t)len : unpack_fail(unpack);
}

void unpack_free(struct unpack *unpack)
{
	if (!unpack)
		return;
	archive_read_free(unpack->archive);
	tar_gunzip_free(unpack->from);
	free(unpack);
}
