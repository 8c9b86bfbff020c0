#include "pack/tool/create/decompressed.h"

#include "base/io.h"
#include "base/log.h"
#include "base/name.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/foreign/compressed.h"
#include "pack/tool/create/target.h"
#include "pack/tool/import/decompress.h"
#include "pack/tool/import/unzip.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SPOOL_SAID (256 * MIB)
#define CHANGED	   "changed while it was decompressed; try again when nothing writes to it"

static bool is_regular(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

static bool begins_compressed(int fd)
{
	char head[COMPRESSION_HEAD];
	ssize_t n = pread(fd, head, sizeof(head), 0);

	return n > 0 && compression_of(head, (size_t)n);
}

static void say_size(const struct decompressed *d, const char *name, int fd)
{
	char text[SIZE_TEXT];
	struct stat st;

	if (fstat(fd, &st) == 0)
		log_detail("%s: decompressed, %s beside %s for as long as this runs", name,
			   size_format((uint64_t)st.st_size, text), d->pack);
}

/* What looks like damage may be where an old and a new file meet. */
static int decompress_unchanged(int from, int to, struct err *err)
{
	struct stat st;
	int r = fstat(from, &st) < 0 ? -errno : decompress(from, to, err);

	if ((r == 0 || r == -EBADMSG) && io_unchanged(from, &st) == -ESTALE)
		r = err_set(err, -ESTALE, CHANGED);
	return r;
}

static int open_unnamed(int fd, struct reader **ret)
{
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = reader_file_open(path, ret);
	return r < 0 ? r : 1;
}

static int fail_unpacked(const struct decompressed *d, int error, const struct err *why,
			 struct err *err)
{
	if (why->text[0])
		return err_set(err, error, "%s", why->text);
	return err_set(err, error, "unpacking it into the folder of %s: %s", d->pack,
		       strerror(-error));
}

static int open_unpacked(const struct decompressed *d, const char *name, int from,
			 struct reader **ret, struct err *err)
{
	SCOPE_CLOSE int to = target_unnamed(d->pack);
	struct err why = {0};
	int r = to < 0 ? to : decompress_unchanged(from, to, &why);

	if (r < 0)
		return fail_unpacked(d, r, &why, err);
	say_size(d, name, to);
	return open_unnamed(to, ret);
}

/* 1: opened; 0: there is nothing to unpack. */
static int open_unzipped(const struct decompressed *d, const char *name, int from,
			 struct reader **ret, struct err *err)
{
	SCOPE_CLOSE int to = target_unnamed(d->pack);
	struct err why = {0};
	struct stat st;
	int r = to < 0 ? to : fstat(from, &st) < 0 ? -errno : unzip(from, name, to, &why);

	if ((r == 0 || r == -EBADMSG) && io_unchanged(from, &st) == -ESTALE)
		r = err_set(&why, -ESTALE, CHANGED);
	if (r > 0)
		return 0;
	if (r < 0)
		return fail_unpacked(d, r, &why, err);
	say_size(d, name, to);
	return open_unnamed(to, ret);
}

static void say_spooled(const struct decompressed *d, const char *name, uint64_t size)
{
	char text[SIZE_TEXT];

	if (size >= SPOOL_SAID)
		log_notice("%s: %s are kept in an unnamed file beside %s until that is finished",
			   name, size_format(size, text), d->pack);
}

/* All of it is kept, so that any part of it can be read. What came before a cut is read, too, so
 * that a run that resumes goes on behind that. */
static int open_spooled(struct decompressed *d, const char *name, struct reader **ret,
			struct err *err)
{
	SCOPE_CLOSE int to = target_unnamed(d->pack);
	struct stat st;
	char none;
	int r = to;

	if (read(d->stream, &none, 0) < 0)
		return -errno;
	if (to >= 0)
		r = decompress(d->stream, to, &d->err);
	if (r == 0 || r == -EBADMSG)
		d->error = r;
	if (r == -EBADMSG)
		r = 0;
	if (r == 0 && fstat(to, &st) < 0)
		r = -errno;
	if (r < 0)
		return fail_unpacked(d, r, &d->err, err);
	if (st.st_size == 0)
		return err_set(err, -EINVAL, "empty, so it is not a tar");
	say_spooled(d, name, (uint64_t)st.st_size);
	r = open_unzipped(d, name, to, ret, err);
	return r != 0 ? r : open_unnamed(to, ret);
}

static int open_decompressed(void *context, const char *name, struct reader **ret, struct err *err)
{
	struct decompressed *d = context;
	SCOPE_CLOSE int fd = -1;
	int r;

	if (d->stream >= 0)
		return open_spooled(d, name, ret, err);
	if (!name_scheme(name))
		fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && begins_compressed(fd))
		return open_unpacked(d, name, fd, ret, err);
	r = fd >= 0 && is_regular(fd) ? open_unzipped(d, name, fd, ret, err) : 0;
	return r != 0 ? r : d->before.open(d->before.context, name, ret, err);
}

static int make_spool(const char *pack, struct reader **ret)
{
	SCOPE_CLOSE int fd = target_unnamed(pack);
	int r = fd < 0 ? fd : open_unnamed(fd, ret);

	return r < 0 ? r : 0;
}

int decompressed_part(const char *pack, struct reader *from, uint64_t offset, uint64_t len,
		      struct reader **spool, uint64_t *ret_start, uint64_t *ret_len)
{
	struct reader_identity before, after;
	SCOPE_CLOSE int to = -1;
	char path[64];
	int r = *spool ? 0 : make_spool(pack, spool);

	if (r == 0)
		r = reader_identity(*spool, &before);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", reader_file_fd(*spool));
	to = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	r = to < 0 ? -errno : decompress_part(from, offset, len, to, NULL);
	if (r == 0)
		r = reader_identity(*spool, &after);
	if (r < 0)
		return r;
	*ret_start = before.size;
	*ret_len = after.size - before.size;
	return 0;
}

void decompressed_begin(struct decompressed *d, const char *pack, struct foreign_settings *settings)
{
	*d = (struct decompressed){
		.pack = pack, .settings = settings, .before = *settings, .stream = -1};
	settings->open = open_decompressed;
	settings->context = d;
}

void decompressed_end(struct decompressed *d)
{
	d->settings->open = d->before.open;
	d->settings->context = d->before.context;
}
