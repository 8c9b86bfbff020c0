#include "pack/tool/import/tar_level.h"

#include "base/scope.h"
#include "pack/tool/import/tar_gunzip.h"
#include <archive.h>
#include <archive_entry.h>
#include <ctype.h>
#include <locale.h>
#include <string.h>

#define RECORD	  512 /* of a tar; one or more records of zeros end it */
#define ZIP_BLOCK ((size_t)256 << 10)
#define FOREIGN	  EILSEQ /* libarchive's errno for what is of another format or character set */

/* Holes are read from here. */
static const char zeros[16384];

struct tar_level {
	struct err *err; /* borrowed */
	struct archive *archive;
	struct tar_gunzip *from; /* NULL: it is a zip */
	int from_error;		 /* -errno of reading it */
	locale_t locale;
	struct archive_entry *entry; /* the current one, or NULL */
	bool waiting;		     /* it was not returned yet */
	bool unfinished;	     /* it may have bytes that were not skipped yet */
	bool ended;
	bool raw;	      /* it is no tar, only compressed */
	bool by_program;      /* libarchive leaves some compressions to programs */
	uint64_t size, given; /* of the current file */
	bool sparse;
	const void *data; /* bytes that were read but not lent, and where they belong */
	size_t len;
	uint64_t offset;
	bool data_end;
};

const char *tar_library(void)
{
	return archive_version_string();
}

/* --- libarchive -------------------------------------------------------------------------- */

static void restore_locale(const locale_t *before)
{
	uselocale(*before);
}

/* libarchive turns the UTF-8 of pax headers into the characters of the locale, and in a UTF-8
 * locale composes accents on the way. In the C locale it keeps the bytes. */
#define SCOPE_BYTES(level)                                                        \
	SCOPE(restore_locale) locale_t scope_locale = uselocale((level)->locale); \
	(void)scope_locale

static la_ssize_t read_from(struct archive *archive, void *context, const void **ret)
{
	struct tar_level *level = context;
	ssize_t n = tar_gunzip_next(level->from, ret);

	(void)archive;
	if (n >= 0)
		return n;
	if (!tar_gunzip_damage(level->from))
		level->from_error = (int)n;
	return ARCHIVE_FATAL;
}

/* libarchive's sentences begin with a capital letter. */
static int fail_as(int error, const char *sentence, struct err *err)
{
	bool capital = isupper((unsigned char)sentence[0]) && islower((unsigned char)sentence[1]);

	return err_set(err, error, "%c%s", capital ? tolower(sentence[0]) : sentence[0],
		       sentence + 1);
}

static int level_fail(struct tar_level *level)
{
	const char *reason = archive_error_string(level->archive);
	const char *damage = level->from ? tar_gunzip_damage(level->from) : NULL;

	if (damage)
		return err_set(level->err, -EBADMSG, "gzip: %s", damage);
	if (level->from_error)
		return level->from_error;
	if (archive_errno(level->archive) == ENOMEM)
		return -ENOMEM;
	return fail_as(-EBADMSG, reason && *reason ? reason : "truncated tar archive", level->err);
}

/* Has libarchive decompress bzip2, xz, zstd and lz4. Built without a library for one of them, it
 * warns that it will run a program instead. */
static int add_filters(struct tar_level *level)
{
	static int (*const filters[])(struct archive *) = {
		archive_read_support_filter_bzip2,
		archive_read_support_filter_xz,
		archive_read_support_filter_zstd,
		archive_read_support_filter_lz4,
	};

	for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++) {
		int status = filters[i](level->archive);

		if (status < ARCHIVE_WARN)
			return -ENOMEM;
		level->by_program |= status == ARCHIVE_WARN;
	}
	return 0;
}

static int support_tar(struct archive *archive)
{
	int status = archive_read_support_format_tar(archive);

	return status != ARCHIVE_OK ? status
				    : archive_read_set_format_option(
					      archive, "tar", "read_concatenated_archives", "1");
}

static int prepare_level(struct tar_level *level)
{
	int status;

	level->archive = archive_read_new();
	if (!level->archive)
		return -ENOMEM;
	status = level->raw ? archive_read_support_format_raw(level->archive)
			    : support_tar(level->archive);
	return status == ARCHIVE_OK ? add_filters(level) : -ENOMEM;
}

/* Whether it could not be opened because a program cannot be run. libarchive has no other way to
 * say so. */
static bool lacks_program(const struct tar_level *level)
{
	return level->by_program && archive_errno(level->archive) == EINVAL;
}

/* A warning about names that libarchive cannot convert is fine: it keeps their bytes. After any
 * other warning the header is not what its author meant. */
static bool understood(struct archive *archive, int status)
{
	return status == ARCHIVE_OK ||
	       (status == ARCHIVE_WARN && archive_errno(archive) == FOREIGN);
}

/* Makes the next entry the current one. */
static int read_level_header(struct tar_level *level)
{
	int64_t before = archive_filter_bytes(level->archive, 0);
	int status;

	level->entry = NULL;
	level->waiting = true;
	archive_clear_error(level->archive);
	status = archive_read_next_header(level->archive, &level->entry);
	if (understood(level->archive, status))
		return 0;
	level->entry = NULL;
	if (status != ARCHIVE_EOF)
		return level_fail(level);
	level->ended = !level->from || archive_filter_bytes(level->archive, 0) - before >= RECORD;
	return 0;
}

/* --- members ----------------------------------------------------------------------------- */

/* libarchive splits a time before 1970 into seconds and a fraction, and gives the sign only to the
 * seconds. */
static struct timespec time_of(struct archive_entry *entry)
{
	struct timespec time = {.tv_sec = archive_entry_mtime(entry),
				.tv_nsec = archive_entry_mtime_nsec(entry)};

	if (time.tv_sec < 0 && time.tv_nsec > 0)
		time = (struct timespec){.tv_sec = time.tv_sec - 1,
					 .tv_nsec = 1000000000 - time.tv_nsec};
	return time;
}

static const char *level_special(mode_t type)
{
	switch (type) {
	case AE_IFCHR:
	case AE_IFBLK:
		return "a device";
	case AE_IFIFO:
		return "a named pipe";
	case AE_IFSOCK:
		return "a socket";
	default:
		return "a part of a file in another volume";
	}
}

static enum tar_kind level_kind(struct archive_entry *entry)
{
	if (archive_entry_hardlink(entry))
		return TAR_HARDLINK;
	switch (archive_entry_filetype(entry)) {
	case AE_IFREG:
		return TAR_FILE;
	case AE_IFDIR:
		return TAR_DIRECTORY;
	case AE_IFLNK:
		return TAR_SYMLINK;
	default:
		return TAR_SPECIAL;
	}
}

static const char *target_of(struct archive_entry *entry, enum tar_kind kind)
{
	const char *target = NULL;

	if (kind == TAR_HARDLINK)
		target = archive_entry_hardlink(entry);
	else if (kind == TAR_SYMLINK)
		target = archive_entry_symlink(entry);
	else if (kind == TAR_SPECIAL)
		target = level_special(archive_entry_filetype(entry));
	return target ? target : "";
}

/* Bytes of a sparse file that are in the tar. */
static uint64_t stored(struct archive_entry *entry, uint64_t size)
{
	uint64_t sum = 0;
	int64_t from, len;

	if (archive_entry_sparse_reset(entry) == 0)
		return size;
	while (archive_entry_sparse_next(entry, &from, &len) == ARCHIVE_OK)
		sum += (uint64_t)len;
	return sum < size ? sum : size;
}

static void describe(struct tar_level *level, struct tar_entry *ret)
{
	struct archive_entry *entry = level->entry;
	enum tar_kind kind = level_kind(entry);
	const char *name = archive_entry_pathname(entry);
	uint64_t size = kind == TAR_FILE ? (uint64_t)archive_entry_size(entry) : 0;
	uint64_t holes = kind == TAR_FILE ? size - stored(entry, size) : 0;

	level->size = size;
	level->given = level->len = 0;
	level->sparse = holes > 0;
	level->data_end = false;
	*ret = (struct tar_entry){.kind = kind,
				  .path = name ? name : "",
				  .target = target_of(entry, kind),
				  .mode = archive_entry_perm(entry) & 07777,
				  .mtime = time_of(entry),
				  .size = size,
				  .holes = holes};
}

int tar_level_finish(struct tar_level *level)
{
	SCOPE_BYTES(level);

	if (!level->unfinished)
		return 0;
	level->unfinished = false;
	level->given = level->size;
	archive_clear_error(level->archive);
	return archive_read_data_skip(level->archive) == ARCHIVE_OK ? 0 : level_fail(level);
}

int tar_level_next(struct tar_level *level, struct tar_entry *ret)
{
	int r = tar_level_finish(level);
	SCOPE_BYTES(level);

	if (r == 0 && !level->waiting)
		r = read_level_header(level);
	if (r < 0)
		return r;
	if (!level->entry)
		return 1;
	if (archive_entry_size(level->entry) < 0)
		return err_set(level->err, -EBADMSG, "a file of less than no bytes");
	if (archive_entry_is_encrypted(level->entry))
		return err_set(level->err, -EACCES, "'%.200s' is encrypted",
			       archive_entry_pathname(level->entry));
	level->waiting = false;
	level->unfinished = true;
	describe(level, ret);
	return 0;
}

bool tar_level_ended(const struct tar_level *level)
{
	return level->ended;
}

/* --- bytes ------------------------------------------------------------------------------- */

/* Reads the next bytes of this file, and checks that they belong where the tar says. */
static int read_data(struct tar_level *level)
{
	int64_t offset = 0;
	int status;

	archive_clear_error(level->archive);
	status = archive_read_data_block(level->archive, &level->data, &level->len, &offset);
	if (status == ARCHIVE_EOF) {
		level->data_end = true;
		level->offset = level->size;
		level->len = 0;
		if (level->given < level->size && !level->sparse)
			return err_set(level->err, -EBADMSG, "less data than the size of the file");
		return 0;
	}
	if (status != ARCHIVE_OK)
		return level_fail(level);
	level->offset = (uint64_t)offset;
	if (level->offset < level->given || level->offset > level->size ||
	    level->len > level->size - level->offset)
		return err_set(level->err, -EBADMSG, "data outside of the file it belongs to");
	return 0;
}

static ssize_t lend(struct tar_level *level, const void **ret)
{
	size_t len = level->len;

	if (level->given < level->offset) {
		uint64_t gap = level->offset - level->given;

		*ret = zeros;
		len = gap < sizeof(zeros) ? (size_t)gap : sizeof(zeros);
	} else {
		*ret = level->data;
		level->len = 0;
	}
	level->given += len;
	return (ssize_t)len;
}

/* The length of what is not a tar is not known. */
static ssize_t raw_block(struct tar_level *level, const void **ret)
{
	int64_t offset;
	size_t len;
	int status = archive_read_data_block(level->archive, ret, &len, &offset);

	if (status == ARCHIVE_EOF)
		return 0;
	return status == ARCHIVE_OK ? (ssize_t)len : level_fail(level);
}

ssize_t tar_level_block(void *context, const void **ret)
{
	struct tar_level *level = context;
	SCOPE_BYTES(level);
	int r = 0;

	if (level->raw)
		return raw_block(level, ret);
	while (r == 0 && level->given < level->size && level->len == 0 && !level->data_end)
		r = read_data(level);
	if (r < 0)
		return r;
	return level->given < level->size ? lend(level, ret) : 0;
}

/* --- life -------------------------------------------------------------------------------- */

static int open_level(struct tar_level *level)
{
	SCOPE_BYTES(level);
	int r = prepare_level(level);

	if (r < 0)
		return r;
	if (archive_read_open(level->archive, level, NULL, read_from, NULL) == ARCHIVE_OK)
		return read_level_header(level);
	if (lacks_program(level))
		return fail_as(-ENOTSUP, archive_error_string(level->archive), level->err);
	r = level_fail(level);
	if (r != -EBADMSG || level->from_error)
		return r;
	if (tar_gunzip_damage(level->from) || archive_errno(level->archive) != FOREIGN)
		return TAR_LEVEL_DAMAGED;
	return TAR_LEVEL_NONE;
}

static int open_zip(struct tar_level *level, int fd)
{
	SCOPE_BYTES(level);

	level->archive = archive_read_new();
	if (!level->archive ||
	    archive_read_support_format_zip_seekable(level->archive) != ARCHIVE_OK)
		return -ENOMEM;
	if (archive_read_open_fd(level->archive, fd, ZIP_BLOCK) != ARCHIVE_OK)
		return level_fail(level);
	return read_level_header(level);
}

/* Without `from` it is a zip. */
static int level_new(const struct tar_blocks *from, bool raw, int zip, struct err *err,
		     struct tar_level **ret)
{
	SCOPE_FREE struct tar_level *level = calloc(1, sizeof(*level));
	int r = -ENOMEM;

	if (!level)
		return r;
	level->err = err;
	level->raw = raw;
	level->locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (level->locale)
		r = from ? tar_gunzip_new(from, &level->from) : 0;
	if (r == 0)
		r = from ? open_level(level) : open_zip(level, zip);
	if (r == 0)
		*ret = steal_ptr(&level);
	else
		tar_level_free(steal_ptr(&level));
	return r;
}

int tar_level_new(const struct tar_blocks *from, struct err *err, struct tar_level **ret)
{
	return level_new(from, false, -1, err, ret);
}

int tar_level_new_raw(const struct tar_blocks *from, struct err *err, struct tar_level **ret)
{
	return level_new(from, true, -1, err, ret);
}

int tar_level_new_zip(int fd, struct err *err, struct tar_level **ret)
{
	return level_new(NULL, false, fd, err, ret);
}

uint64_t tar_level_position(const struct tar_level *level)
{
	return (uint64_t)archive_filter_bytes(level->archive, -1);
}

void tar_level_free(struct tar_level *level)
{
	if (!level)
		return;
	archive_read_free(level->archive);
	tar_gunzip_free(level->from);
	if (level->locale)
		freelocale(level->locale);
	free(level);
}
